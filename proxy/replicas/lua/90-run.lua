-- What a call does: the steps it names, one after the other, and what follows for others.
--
-- Rule: effects about another replica's requests are pushed to it; what concerns all, to all.

local first = request.steps[1]
local announces = first and first[1] == 'announce'
if announces and first[3] then
  wipe()
end
load_state()
local last, done = leases.last_calls()
if not announces and not (last and S and S.run == run) then
  return cmsgpack.pack({ now = now, unknown = true })
end
if last and request.number <= last then
  return cmsgpack.pack({ now = now, late = true })
end
if not S then
  if state_is_lost() then
    wipe()
    done = nil
  end
  begin(first[2].start)
end
-- A clock that was set back would let nothing end for as long.
now = now + (S.clock_behind or 0)
if S.seen_at and now < S.seen_at then
  S.clock_behind = (S.clock_behind or 0) + S.seen_at - now
  now = S.seen_at
end
if S.run ~= run then
  leases.begin_recovery()
end
local due = S.deadline
leases.renew(announces)
leases.expire()
for _, step in ipairs(request.steps) do
  steps[step[1]](unpack(step, 2))
end
S.deadline = queue.deadline()
-- Whose call has changed what is due next is the one to call then; the others do where it does not. nil: everybody.
if leases.has_left(request.replica) then
  S.waker = nil
elseif S.deadline ~= due then
  S.waker = request.replica
end
lag.save()
save_state()

-- How things stand, for all who decide something by themselves. `eager`: somebody waits for how answers begin.
local standing = {
  deadline = S.deadline,
  waker = S.waker,
  limit = S.limit,
  waiting = S.ready + S.resting,
  paused_until = S.pause.until_at,
  cooldown_s = S.cooldown_s,
  grants = S.grants,
  eager = not pause.is_open() or S.learns_limit or S.quota ~= nil or queue.gated() ~= nil,
}
local to = {}
for _, effect in ipairs(out) do
  local whom = effect[2] or 'all'
  if request.channel and whom ~= request.replica then
    to[whom] = to[whom] or {}
    table.insert(to[whom], effect)
  end
end
for whom, effects in pairs(to) do
  local news = { key = base, from = request.replica, now = now, effects = effects, standing = standing }
  call('PUBLISH', request.channel .. whom, cmsgpack.pack(news))
end
return cmsgpack.pack({ now = now, effects = out, standing = standing, done = done })

-- What a call does: the steps it names, one after the other, and what follows for others.
--
-- Rule: effects about another replica's requests are pushed to it; what concerns all, to all.

load_state()
local known = S and S.run == request.run
if not known and request.steps[1][1] ~= 'announce' then
  return cmsgpack.pack({ now = now, unknown = true, effects = {} })
end
if known then
  leases.renew()
  leases.expire()
end
for _, step in ipairs(request.steps) do
  steps[step[1]](unpack(step, 2))
end
if not known then
  leases.begin()
end
lag.save()
save_state()

local deadline = queue.deadline()
local to = {}
for _, effect in ipairs(out) do
  local whom = effect[2] or 'all'
  if request.channel and whom ~= request.replica then
    to[whom] = to[whom] or {}
    table.insert(to[whom], effect)
  end
end
for whom, effects in pairs(to) do
  local news = { key = base, from = request.replica, now = now, effects = effects, deadline = deadline }
  call('PUBLISH', request.channel .. whom, cmsgpack.pack(news))
end
return cmsgpack.pack({ now = now, effects = out, deadline = deadline })

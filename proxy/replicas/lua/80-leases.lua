-- Which replicas live, and what becomes of what a dead one had.
--
-- Rule 1: every call renews its replica's lease here, by Redis' clock. Who has not called for LEASE_S is dead: what it
--         held is given back, and whom it let wait is forgotten.
-- Rule 2: nobody dies while nobody can call. After a time in which no replica did, all leases begin anew.
-- Rule 3: who is not known, since it was taken for dead or the server has forgotten it, has to announce itself. What it
--         holds is its own only where nobody can have been given it meanwhile; of the rest it is told (`Lost`).
-- Rule 4: another server than the last (`run`), or an empty one, may have forgotten grants. So nobody is granted
--         anything until each replica that is known has announced what it holds, or a lease has passed.
-- Rule 5: a replica's calls have numbers that grow. One that comes late, from a connection that was given up, does
--         nothing: what it asked for was announced since.

local leases = {}
local QUIET_S = LEASE_S / 2 -- replicas call at least each third of a lease

local function bury(replica)
  local held, waited = {}, 0
  for _, id in ipairs(call('SMEMBERS', base .. 'of:' .. replica)) do
    if waiting.remove(id) then -- before a slot is given back, which would be theirs
      waited = waited + 1
    else
      held[#held + 1] = ticket_of(id)
    end
  end
  for _, ticket in ipairs(held) do
    queue.let_go(ticket, true)
  end
  call('DEL', base .. 'of:' .. replica)
  call('ZREM', base .. 'leases', replica)
  call('HDEL', base .. 'calls', replica, replica .. ':done')
  if S.waker == replica then
    S.waker = nil
  end
  tell('Buried', false, replica, #held, waited)
  if S.recovering then
    S.recovering.awaited[replica] = nil
    if not next(S.recovering.awaited) then
      S.recovering = nil
      queue.pump()
    end
  else
    S.announced[replica] = nil
  end
  if S.gate.polling and S.gate.by == replica then
    queue.poll_by_another()
  end
end

-- The numbers of the replica's last call, and of its last one that was no announcement; nil: it is not known.
function leases.last_calls()
  local numbers = call('HMGET', base .. 'calls', request.replica, request.replica .. ':done')
  return tonumber(numbers[1] or nil), tonumber(numbers[2] or nil)
end

function leases.has_left(replica)
  return not call('ZSCORE', base .. 'leases', replica)
end

-- The caller lives.
function leases.renew(announces)
  call('ZADD', base .. 'leases', now + LEASE_S, request.replica)
  local done = request.replica .. (announces and '' or ':done')
  call('HSET', base .. 'calls', request.replica, request.number, done, request.number)
end

-- Who has not called for too long is dead.
function leases.expire()
  if S.seen_at and now - S.seen_at > QUIET_S then
    for _, replica in ipairs(call('ZRANGE', base .. 'leases', 0, -1)) do
      call('ZADD', base .. 'leases', now + LEASE_S, replica)
    end
  end
  S.seen_at = now
  for _, replica in ipairs(call('ZRANGEBYSCORE', base .. 'leases', '-inf', now)) do
    bury(replica)
  end
end

-- Whether there is more than there can be without a state.
local function state_is_lost()
  return call('EXISTS', base .. 'tickets', base .. 'queue', base .. 'held', base .. 'cooling', base .. 'calls') > 0
end

-- Whether what belongs together does: somebody may have taken a key away. An error, after which all begin anew.
local function check()
  local size = {}
  for _, key in ipairs({ 'queue', 'rests', 'held', 'cooling', 'heads' }) do
    size[key] = call('ZCARD', base .. key)
  end
  local cooling = S.in_flight - S.held - (S.gate.slot and 1 or 0)
  local sound = size.queue == S.ready
    and size.rests == S.resting
    and size.held == S.held
    and size.cooling == cooling
    and call('HLEN', base .. 'rested') == cooling
    and call('HLEN', base .. 'tickets') == S.ready + S.resting + S.held
    and (size.heads > 0) == (S.ready > 0)
  if not sound then
    error('keys that begin with ' .. base .. ' do not belong together')
  end
end

-- The replica goes, and leaves nothing behind.
function steps.leave_all()
  bury(request.replica)
end

-- Who lives, and who is still waited for.
local function known_replicas()
  local found = call('ZRANGE', base .. 'leases', 0, -1)
  for replica in pairs(S.recovering and S.recovering.awaited or {}) do
    found[#found + 1] = replica
  end
  return found
end

-- Who lives, and how much of what the caller has is known.
function steps.peers()
  check()
  local known = call('SCARD', base .. 'of:' .. request.replica)
  tell('Peers', request.replica, known_replicas(), known)
end

local function own(id)
  call('SADD', base .. 'of:' .. request.replica, id)
end

-- Of a slot that the replica says it holds; nobody can have been given it while all wait for what was forgotten.
local function take_over_held(said)
  local ticket = ticket_of(said.id)
  local known = ticket and ticket.grant == said.grant
  if not known and not S.recovering then
    tell('Lost', request.replica, said.id, said.grant)
    return
  end
  own(said.id)
  if known then
    return
  end
  if ticket and not ticket.grant then
    waiting.remove(said.id)
  end
  said.replica, said.granted, said.queued = request.replica, now - said.held_s, now - said.held_s
  said.held_s = nil
  S.seq = S.seq + 1 -- its place among those that started together is not known any more
  said.seq = said.seq or S.seq
  S.grants = math.max(S.grants, said.grant)
  S.held, S.in_flight = S.held + 1, S.in_flight + 1
  S.taken = S.taken + (said.taken and 1 or 0)
  keep(said)
  call('ZADD', base .. 'held', said.grant, said.id)
end

local function take_over_waiting(said)
  local ticket = ticket_of(said.id)
  own(said.id)
  if ticket and ticket.grant then -- granted, and the word of it lost
    tell('Granted', ticket.replica, ticket.id, ticket.grant, ticket.granted - (ticket.queued or ticket.granted))
  end
  if ticket then
    return
  end
  if said.seq then
    S.seq = math.max(S.seq, said.seq)
    said.replica = request.replica
  else
    arrive(said)
  end
  said.queued, said.waited_s, said.after = now - said.waited_s, nil, nil
  waiting.add(said)
  tell('Queued', said.replica, said.id, said.seq)
end

-- Another server than before, or an empty one: all who lived must say what they hold before anybody is granted
-- anything.
function leases.begin_recovery()
  S.run, S.announced = run, {}
  S.recovering = { until_at = now + LEASE_S, awaited = {} }
  for _, replica in ipairs(call('ZRANGEBYSCORE', base .. 'leases', S.seen_at or 0, 'inf')) do
    S.recovering.awaited[replica] = true
  end
end

-- Everything that the replica holds and lets wait, as it knows it: {start, fresh, peers, poll, held, waiting}; `poll`
-- is the last usage poll that it was asked for, `after` of one that waits the last slot that it has given back. What
-- Redis knows more of it is over, what it knows less is put in.
function steps.announce(said)
  local file = said.start.file
  if said.fresh and file then
    steps.set_policy(said.start.policy)
    if file.limit_said then -- a file that says none does not take away the others' limit
      steps.file_limit(file.limit_said, file.limit or false, file.learns_limit)
    end
    steps.file_cooldown(file.cooldown_said, file.cooldown_s, file.learns_cooldown)
  end
  S.announced[request.replica] = true
  if S.recovering then
    for _, replica in ipairs(said.peers) do
      S.recovering.awaited[replica] = not S.announced[replica] or nil
    end
    S.recovering.awaited[request.replica] = nil
  end
  local has = {}
  for _, one in ipairs(said.held) do
    has[tostring(one.id)] = one.grant
  end
  for _, one in ipairs(said.waiting) do
    has[tostring(one.id)] = one
  end
  for _, id in ipairs(call('SMEMBERS', base .. 'of:' .. request.replica)) do
    local ticket, mine = ticket_of(id), has[id]
    if ticket and ticket.grant then
      local granted = type(mine) == 'table' and ticket.grant > (mine.after or 0)
      if mine ~= ticket.grant and not granted then
        queue.let_go(ticket, true)
      end
    elseif ticket and type(mine) ~= 'table' then
      waiting.remove(id)
    end
  end
  for _, one in ipairs(said.held) do
    take_over_held(one)
  end
  for _, one in ipairs(said.waiting) do
    take_over_waiting(one)
  end
  if S.recovering and not next(S.recovering.awaited) then
    S.recovering = nil
  end
  tell('Peers', false, known_replicas())
  if S.gate.polling and S.gate.by == request.replica and S.gate.number ~= said.poll then -- the word of it was lost
    queue.poll_by_another()
  end
  queue.pump()
end

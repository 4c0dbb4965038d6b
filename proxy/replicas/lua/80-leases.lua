-- Which replicas live, and what becomes of what a dead one had.
--
-- Rule 1: every call renews its replica's lease here, by Redis' clock. Who has not called for LEASE_S is dead: what it
--         held is given back, and whom it let wait is forgotten.
-- Rule 2: nobody dies while nobody can call. After a time in which no replica did, all leases begin anew.
-- Rule 3: a replica that was taken for dead is told so (`Gone`), and cuts what it still has under way.
-- Rule 4: another server than the last (`run`), or an empty one, may have forgotten grants. So nobody is granted anything
--         until each replica that is known has announced what it holds, or a lease has passed.

local leases = {}
local QUIET_S = LEASE_S / 2 -- replicas call at least each third of a lease

local function bury(replica)
  local held, waited = 0, 0
  for _, id in ipairs(call('SMEMBERS', base .. 'of:' .. replica)) do
    local ticket = ticket_of(id)
    if ticket and ticket.grant then
      held = held + 1
      queue.let_go(ticket, true)
    elseif waiting.remove(id) then
      waited = waited + 1
    end
  end
  call('DEL', base .. 'of:' .. replica)
  call('ZREM', base .. 'leases', replica)
  if S.recovering then
    S.recovering.awaited[replica] = nil
  end
  tell('Buried', false, replica, held, waited)
  if S.gate.polling and S.gate.by == replica then
    queue.polled(nil, 'the replica that asked is gone')
  end
end

function leases.begin()
  call('ZADD', base .. 'leases', now + LEASE_S, request.replica)
  S.seen_at = now
end

-- The caller lives. `known`: it believes that it has been all the time.
function leases.renew()
  local lease = call('ZSCORE', base .. 'leases', request.replica)
  if request.known and not lease then
    tell('Gone', request.replica)
  end
  call('ZADD', base .. 'leases', now + LEASE_S, request.replica)
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

-- The replica goes, and leaves nothing behind.
function steps.leave_all()
  bury(request.replica)
end

-- Who else lives.
function steps.peers()
  tell('Peers', request.replica, call('ZRANGE', base .. 'leases', 0, -1))
end

local function take_over_held(said)
  local ticket = ticket_of(said.id)
  if ticket and ticket.grant == said.grant then
    return
  end
  if ticket and not ticket.grant then
    waiting.remove(said.id)
  end
  said.replica, said.granted, said.queued = request.replica, now - said.held_s, now - said.held_s
  said.held_s = nil
  S.grants = math.max(S.grants, said.grant)
  S.seq = math.max(S.seq, said.seq)
  S.held, S.in_flight = S.held + 1, S.in_flight + 1
  S.taken = S.taken + (said.taken and 1 or 0)
  keep(said)
  call('SADD', base .. 'of:' .. request.replica, said.id)
  call('ZADD', base .. 'held', said.grant, said.id)
end

local function take_over_waiting(said)
  if ticket_of(said.id) then
    return
  end
  said.replica, said.queued = request.replica, now - said.waited_s
  said.waited_s = nil
  S.seq = math.max(S.seq, said.seq)
  call('SADD', base .. 'of:' .. request.replica, said.id)
  waiting.add(said)
end

-- Everything that the replica holds and lets wait, as it knows it: {start, peers, held, waiting}. What Redis knows more
-- of it is over, and what it knows less is put in.
function steps.announce(said)
  if not S then
    begin(said.start)
  end
  if S.run ~= request.run then
    S.run = request.run
    S.recovering = { until_at = now + LEASE_S, awaited = {} }
    for _, replica in ipairs(call('ZRANGE', base .. 'leases', 0, -1)) do
      S.recovering.awaited[replica] = true
    end
    S.announced = {}
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
    has[tostring(one.id)] = true
  end
  for _, id in ipairs(call('SMEMBERS', base .. 'of:' .. request.replica)) do
    local ticket = ticket_of(id)
    if ticket and ticket.grant and has[id] ~= ticket.grant and has[id] ~= true then
      queue.let_go(ticket, true)
    elseif ticket and not has[id] then
      waiting.remove(id)
    end
  end
  for _, one in ipairs(said.held) do
    take_over_held(one)
  end
  for _, one in ipairs(said.waiting) do
    local ticket = ticket_of(one.id)
    if ticket and ticket.grant then -- granted, and the word of it lost
      tell('Granted', ticket.replica, ticket.id, ticket.grant, ticket.granted - ticket.queued)
    else
      take_over_waiting(one)
    end
  end
  if S.recovering and not next(S.recovering.awaited) then
    S.recovering = nil
  end
  queue.pump()
end

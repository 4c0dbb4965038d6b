-- The transitions: see proxy/core/scheduler.py. Each is {name, …}; what names a slot that is not held any more, or a
-- ticket that does not wait, changes nothing.

local steps = {}

-- What a provider starts with of which nothing is known.
local function begin(start)
  local file = start.file or {}
  S = {
    policy = start.policy,
    limit = start.limit,
    original = start.original,
    evidence = start.evidence or {},
    file_limit = file.limit_said,
    file_cooldown = file.cooldown_said,
    learns_limit = start.learns_limit,
    served = 0,
    reduced_at = 0,
    learned_at = 0,
    grants = 0,
    held = 0,
    in_flight = 0,
    taken = 0,
    ready = 0,
    resting = 0,
    turn = 0,
    seq = 0,
    pause = { state = 'open' },
    allowance = { told_at = 0 },
    gate = { beyond = {}, next_at = 0, grants = 0, again = false, polling = false },
    strikes = { count = start.strikes or 0, until_at = start.strikes_left_s and now + start.strikes_left_s or nil },
    recovery = { configured = start.policy.auto_restore_s, after = start.policy.auto_restore_s },
    raised_until = 0,
    quota_at = 0,
  }
  if start.restore_after_s and S.recovery.after then
    S.recovery.after = math.max(S.recovery.after, start.restore_after_s)
  end
  for _, seen in ipairs(S.evidence) do
    S.last = seen.status ~= 0 and seen or S.last
  end
  cooldown.set(start.cooldown_s, start.learns_cooldown)
  for _, workspace in ipairs(start.stars or {}) do
    call('SADD', base .. 'stars', workspace)
  end
  if start.pause_left_s and (S.limit or start.pause_cause == OPERATOR) then
    pause.begin(now + start.pause_left_s, start.pause_cause)
  end
end

local function arrive(ticket)
  S.seq = S.seq + 1
  ticket.seq, ticket.replica = S.seq, request.replica
end

function steps.grant_at_once(ticket)
  arrive(ticket)
  if queue.grant_at_once(ticket) then
    call('SADD', base .. 'of:' .. ticket.replica, ticket.id)
  end
end

function steps.request(ticket)
  if ticket_of(ticket.id) then -- announced meanwhile
    return
  end
  arrive(ticket)
  call('SADD', base .. 'of:' .. ticket.replica, ticket.id)
  if queue.grant_at_once(ticket) then
    return
  end
  if S.ready + S.resting >= S.policy.max_waiting then
    call('SREM', base .. 'of:' .. ticket.replica, ticket.id)
    tell('Refused', ticket.replica, ticket.id, 'queue_full')
    return
  end
  queue.line_up(ticket)
  if queue.gated() then
    queue.pump_if_due()
  end
end

function steps.cancel(id)
  local ticket = waiting.remove(id)
  if ticket then
    tell('Left', ticket.replica, ticket.id, now - ticket.queued)
  end
end

-- The client is gone, whether its ticket waits or has been granted meanwhile.
function steps.leave(id)
  local ticket = ticket_of(id)
  if ticket and ticket.grant then
    queue.let_go(ticket, false)
  else
    steps.cancel(id)
  end
end

function steps.drop(id, code)
  queue.refuse({ id = id, replica = (ticket_of(id) or {}).replica }, code)
end

-- Of one replica if it is named: at the end of its drain.
function steps.drop_all(code, replica)
  for _, entry in ipairs(waiting.ordered()) do
    local ticket = ticket_of(entry[2])
    if not replica or ticket.replica == replica then
      queue.refuse(ticket, code)
    end
  end
end

function steps.release(id, grant, reached)
  local ticket = holder(id, grant)
  if ticket then
    queue.let_go(ticket, reached)
  end
end

function steps.requeue(id, grant, rest_s)
  local ticket = holder(id, grant)
  if ticket then
    queue.let_go(ticket, true, true, now + rest_s)
  end
end

-- The same for a client that bears `patience_s` more; the rest is none where a pause holds its place.
function steps.requeue_within(id, grant, rest_s, patience_s)
  local ticket = holder(id, grant)
  if ticket and pause.outlasts(now + patience_s) then
    queue.let_go(ticket, true)
    tell('Outlasted', ticket.replica, ticket.id)
  else
    steps.requeue(id, grant, S.pause.until_at and 0 or rest_s)
  end
end

function steps.reclaim(id, grant, why, after_s)
  local ticket = holder(id, grant)
  if ticket then
    tell('Reclaimed', ticket.replica, ticket.id, ticket.grant, why, after_s or now - ticket.granted)
    queue.let_go(ticket, true)
  end
end

function steps.answered(id, grant, success)
  if success then
    local ticket = holder(id, grant)
    if ticket then
      slots.mark_taken(ticket)
    end
    if S.learns_limit and S.taken > S.served then
      S.served = S.taken
    end
    if S.quota and grant > S.quota_at then
      S.quota = nil
    end
  end
  local was_probe = not pause.is_open() and pause.answered(grant)
  if was_probe or (queue.gated() and queue.waits_for_news()) then
    queue.pump()
  end
end

local function raises_cooldown(seen)
  local recycled = S.freed_at and now - S.freed_at <= RECYCLED_S
  local full = not limit.has_room(seen.in_flight)
  local explained = now < S.raised_until or recovery.on_trial()
  if explained or not (S.learns_cooldown and seen.kind == 'concurrency' and recycled and full) then
    return false
  end
  lag.raise()
  if not cooldown.follow() then
    return false
  end
  S.raised_until = now + RAISED_S
  S.reduced_at = S.grants
  return true
end

local function react(grant, seen)
  local floor_s = 0
  if pause.ours(seen) then
    limit.note(seen)
    if not raises_cooldown(seen) and S.policy.auto_reduce then
      limit.reduce(grant)
    end
    recovery.refused()
    if seen.kind == 'concurrency' then
      floor_s = strikes.floor_s()
    end
  end
  local wait_s = pause.seconds(seen, floor_s)
  if wait_s > 0 then
    queue.lengthen_pause(now + wait_s, seen.kind)
  elseif not pause.is_open() and pause.answered(grant) then
    queue.pump()
  end
end

-- The provider refused the request that was let in by `grant`, whether it holds its slot or not any more.
function steps.rate_limited(id, grant, seen)
  seen.in_flight = S.in_flight
  seen.at = now_ms
  S.last = seen
  local ticket = holder(id, grant)
  if ticket then
    slots.mark_refused(ticket)
  end
  tell('RateLimited', request.replica, id, seen)
  if seen.kind == 'quota' then
    S.quota, S.quota_at = seen, S.grants
  elseif seen.kind == 'concurrency' then
    strikes.add()
    local learned = limit.learn(grant)
    if learned then
      tell('LimitSet', false, learned, 'learned')
    end
  end
  if S.limit then
    react(grant, seen)
  end
end

function steps.few_left(id, grant, left, wait_s)
  if not S.limit or wait_s <= 0 or wait_s > S.policy.pause.max_s then
    return
  end
  if left == 0 then
    queue.lengthen_pause(now + wait_s, 'exhausted')
  elseif holder(id, grant) then
    local it = S.allowance
    if grant >= it.told_at then
      it.told_at, it.last_grant, it.until_at = grant, grant + left, now + wait_s
    end
    if left >= S.limit then
      queue.forget_allowance()
    end
    queue.pump()
  end
end

-- What the poll of this number has heard; one that is over already changes nothing.
function steps.polled(number, observed, error_text)
  if S.gate.polling and S.gate.number == number then
    queue.polled(observed or nil, error_text or nil)
  end
end

-- Whose turn it was to ask is gone: somebody else asks.
function steps.unasked(number)
  if S.gate.polling and S.gate.number == number then
    queue.poll_by_another()
  end
end

function steps.set_limit(value, by, learns)
  value = value or nil
  local removed = not value and S.limit
  limit.set(value, learns)
  recovery.forget()
  tell('LimitSet', false, value or false, by)
  if removed then
    if S.pause.until_at then
      tell('Resumed', false, 'unlimited')
    end
    pause.lift()
    queue.forget_allowance()
  end
  queue.pump()
end

function steps.restore()
  if S.original then
    steps.set_limit(S.original, 'restore', false)
  end
end

function steps.set_cooldown(seconds, by, learns)
  cooldown.set(seconds, learns)
  tell('CooldownSet', false, seconds, by)
end

-- What the file says now: a value that it has changed is a person's latest word; one that it repeats is not. `said` is
-- the value as it stands there, 0 or -1 for `auto`.
function steps.file_limit(said, value, learns)
  if (S.file_limit or false) ~= said then
    S.file_limit = said or nil
    steps.set_limit(value, 'file', learns)
  end
end

function steps.file_cooldown(said, seconds, learns)
  if S.file_cooldown ~= said then
    S.file_cooldown = said
    steps.set_cooldown(seconds, 'file', learns)
  end
end

function steps.set_policy(policy)
  S.policy = policy
  recovery.configure()
  queue.refuse_impatient()
  queue.pump()
  queue.tick()
end

-- By hand, `for_s` from now on.
function steps.pause(for_s)
  queue.begin_pause(now + for_s, OPERATOR)
end

function steps.resume()
  if S.pause.until_at then
    queue.end_pause(OPERATOR)
  end
end

function steps.star(workspace, starred)
  if call(starred and 'SADD' or 'SREM', base .. 'stars', workspace) == 1 then
    waiting.star_changed(workspace)
    tell('Starred', false, workspace, starred)
  end
end

function steps.tick()
  if S.original then
    if not S.recovery.due or (S.recovery.due <= now and not strikes.bear_more()) then
      recovery.wait()
    elseif S.recovery.due <= now then
      tell('LimitSet', false, limit.step_up(), 'auto_restore')
      recovery.stepped()
      queue.pump()
    end
  end
  queue.tick()
end

-- What is due, at the beginning of a call: no step may find a slot resting that is free.
function steps.catch_up()
  if S.deadline and S.deadline <= now then
    steps.tick()
  end
end

-- What one replica tells all of an agent's turn, as it is.
function steps.turn(text)
  tell('Turn', false, text)
end

-- What of each slot's answer has passed, as its holder tells now and then: {{id, phase, bytes, silent_s}, …}.
function steps.progress(entries)
  for _, one in ipairs(entries) do
    if ticket_of(one[1]) then
      call('HSET', base .. 'progress', one[1], cmsgpack.pack({ one[2], one[3], now - one[4] }))
    end
  end
end

-- Everything, for whoever shows it: a mirror is built from this (proxy/replicas/mirror.py). Changes nothing. Of those
-- who wait the `most` that came first.
function steps.look(most)
  local function tickets(key, last)
    local found = {}
    for _, id in ipairs(call('ZRANGE', base .. key, 0, last)) do
      found[#found + 1] = ticket_of(id)
    end
    return found
  end
  local cooling, resting, past, progress = {}, {}, {}, {}
  local found = call('ZRANGE', base .. 'cooling', 0, -1, 'WITHSCORES')
  for position = 1, #found, 2 do
    local rested = cmsgpack.unpack(call('HGET', base .. 'rested', tonumber(found[position])))
    cooling[#cooling + 1] = { tonumber(found[position + 1]), rested }
  end
  found = call('ZRANGE', base .. 'rests', 0, most - 1, 'WITHSCORES')
  for position = 1, #found, 2 do
    resting[#resting + 1] = { tonumber(found[position + 1]), ticket_of(found[position]) }
  end
  for _, packed in ipairs(call('LRANGE', base .. 'past', 0, -1)) do
    past[#past + 1] = cmsgpack.unpack(packed)
  end
  found = call('HGETALL', base .. 'progress')
  for position = 1, #found, 2 do
    progress[found[position]] = cmsgpack.unpack(found[position + 1])
  end
  tell('Look', request.replica, {
    state = S,
    progress = progress,
    lag = lag.get(),
    held = tickets('held', -1),
    waiting = tickets('queue', most - 1),
    resting = resting,
    cooling = cooling,
    past = past,
    stars = call('SMEMBERS', base .. 'stars'),
  })
end

-- The pump that gives slots to waiters, and the poll that it may ask for: see proxy/core/queue.py and gate.py.

local queue = {}

function queue.gated()
  return S.policy.gate_interval_s and S.limit
end

local function recovering()
  return S.recovering and S.recovering.until_at > now
end

-- How many more the provider takes is not known any more.
function queue.forget_allowance()
  S.allowance.last_grant, S.allowance.until_at = nil, nil
end

local function allowed()
  return not S.allowance.last_grant or S.grants < S.allowance.last_grant
end

local function room()
  return limit.has_room(S.in_flight) and not pause.blocks() and allowed() and not recovering()
end

-- What others use of the same account, as it was known `at` that time; nil if no fresh poll tells.
local function external(at)
  local least
  for _, seen in ipairs(S.gate.beyond) do
    if at - seen[1] <= FRESH_S then
      least = math.min(least or math.huge, seen[2])
    end
  end
  return least
end

local function granted(ticket, waited_s)
  tell('Granted', ticket.replica, ticket.id, ticket.grant, waited_s)
end

-- Grant a newcomer that need not wait; false: nothing has changed.
function queue.grant_at_once(ticket)
  if waiting.ready() or not allowed() or recovering() then
    return false
  end
  if not limit.has_room(S.in_flight) then
    return false
  end
  if queue.gated() then
    if S.gate.polling then
      return false
    end
    local mine = math.max(S.in_flight, S.held + lag.may_be_counted())
    if not limit.has_room(mine + (external(now) or 0)) then
      return false
    end
  end
  if not pause.is_open() then
    if S.pause.until_at then
      return false
    end
    pause.passed()
  end
  slots.grant(ticket)
  granted(ticket, 0)
  return true
end

local function admit(ticket)
  slots.grant(ticket)
  if not pause.is_open() then
    pause.sent(ticket)
  end
  granted(ticket, now - ticket.queued)
end

local function start_poll(ticket, freed)
  local gate = S.gate
  gate.polling, gate.slot, gate.by, gate.began = true, freed, ticket.replica, now
  gate.next_at, gate.again = now + S.policy.gate_interval_s, false
  gate.patience_until = S.policy.gate_patience_s and now + S.policy.gate_patience_s or nil
  if freed then
    S.in_flight = S.in_flight + 1 -- until the poll ends (spec §8)
  end
  gate.ours = {
    held = S.held,
    in_flight = S.in_flight,
    unseen = slots.unseen(S.policy.gate_age_s),
    grants = S.grants,
  }
  S.polls = (S.polls or 0) + 1
  gate.number = S.polls
  tell('PollUsage', ticket.replica, ticket.id, gate.number)
end

-- Something changed, the slot `freed` became free for one: give what can be given, or ask the provider first.
function queue.pump(freed)
  if not queue.gated() then
    while waiting.ready() and room() do
      admit(waiting.take())
    end
  elseif S.gate.polling then
    S.gate.again = true
  elseif room() and waiting.ready() then
    start_poll(waiting.first(), freed)
  end
end

function queue.poll_by_another()
  local freed = S.gate.slot
  if freed then
    S.in_flight = S.in_flight - 1
  end
  S.gate.polling, S.gate.slot = false, nil
  queue.pump(freed)
end

function queue.pump_if_due()
  if not S.gate.polling and (S.gate.next_at or 0) <= now then
    queue.pump()
  end
end

-- Whether the latest poll may have counted more, had it seen everything.
local function in_doubt()
  local seen = S.gate.reading
  return seen ~= nil and seen.observed ~= S.gate.counted
end

function queue.waits_for_news()
  return waiting.ready() and in_doubt() and S.policy.gate_age_s == 0
end

local function count(observed)
  local gate = S.gate
  local before = gate.counted and gate.counted + gate.ours.grants - gate.grants or observed
  gate.counted = math.max(observed, math.min(observed + #gate.ours.unseen, before))
  gate.grants = gate.ours.grants
  return gate.counted
end

local function finish_poll(observed, error_text)
  local gate = S.gate
  gate.polling, gate.slot, gate.ended = false, nil, now
  if observed then
    table.insert(gate.beyond, { now, math.max(0, count(observed) - gate.ours.in_flight) })
    if #gate.beyond > POLLS_BELIEVED then
      table.remove(gate.beyond, 1)
    end
    gate.reading = { observed = observed, at = now, error = error_text }
  elseif not (gate.reading and gate.reading.observed) then
    gate.reading = { at = now, error = error_text }
  else
    gate.reading.error = error_text
  end
  gate.next_at = math.max(gate.next_at, now)
  return gate.again
end

local function look_sooner(observed)
  local gate, look_at = S.gate, lag.next_look_at()
  if look_at then
    gate.next_at = math.min(gate.next_at, look_at)
  end
  if observed and in_doubt() then
    for _, at in ipairs(gate.ours.unseen) do
      gate.next_at = math.min(gate.next_at, math.max(at, now))
    end
  end
end

function queue.polled(observed, error_text)
  local gate = S.gate
  if gate.slot then
    S.in_flight = S.in_flight - 1
  end
  local again = finish_poll(observed, error_text)
  if observed and queue.gated() then
    local beyond = observed - gate.ours.held - (external(gate.began) or 0)
    lag.polled(math.max(0, beyond), math.max(0, beyond + #gate.ours.unseen), gate.began)
    cooldown.follow()
  end
  local below = not observed or limit.has_room(gate.counted or 0)
  if queue.gated() and below and room() and waiting.ready() then
    admit(waiting.take())
    again = true
  end
  if again or not queue.gated() then
    queue.pump()
  else
    look_sooner(observed)
  end
end

function queue.refuse(ticket, code)
  if waiting.remove(ticket.id) then
    tell('Refused', ticket.replica, ticket.id, code)
  end
end

function queue.refuse_impatient()
  local ticket = waiting.longest()
  while ticket and pause.outlasts(ticket.queued + S.policy.max_wait_s) do
    queue.refuse(ticket, 'paused')
    ticket = waiting.longest()
  end
end

local function refuse_late()
  local ticket = waiting.longest()
  while ticket and ticket.queued + S.policy.max_wait_s <= now do
    queue.refuse(ticket, 'queue_timeout')
    ticket = waiting.longest()
  end
end

function queue.line_up(ticket)
  if not pause.is_open() and pause.outlasts(now + S.policy.max_wait_s) then
    forget(ticket)
    tell('Refused', ticket.replica, ticket.id, 'paused')
    return
  end
  ticket.queued = now
  waiting.add(ticket)
  tell('Queued', ticket.replica, ticket.id, ticket.seq)
end

function queue.begin_pause(until_at, cause)
  pause.begin(until_at, cause)
  tell('Paused', false, until_at, cause)
  queue.refuse_impatient()
end

function queue.lengthen_pause(until_at, cause)
  if not S.pause.until_at or until_at > S.pause.until_at then
    queue.begin_pause(until_at, cause)
  end
end

function queue.end_pause(cause)
  pause.finish()
  tell('Resumed', false, cause)
  queue.pump()
end

-- End the hold of `ticket`. `back`: it waits again in its own place, from `back_at` on if that is later.
function queue.let_go(ticket, reached, back, back_at)
  local rest_s = reached and S.limit and S.cooldown_s or 0
  local held_s = slots.give_back(ticket, rest_s)
  tell('Released', ticket.replica, ticket.id, ticket.grant, held_s)
  if queue.gated() and reached and not ticket.refused then
    lag.ended()
  end
  local nobody_tells = S.allowance.until_at and S.held == 0
  if nobody_tells then
    queue.forget_allowance()
  end
  local was_probe = not pause.is_open() and pause.left(ticket.grant)
  local freed = {}
  for name, value in pairs(ticket) do
    freed[name] = value
  end
  ticket.grant, ticket.granted, ticket.refused, ticket.taken = nil, nil, nil, nil
  if not back then
    forget(ticket)
  elseif back_at > now then
    ticket.queued = now
    waiting.rest(ticket, back_at)
  else
    queue.line_up(ticket)
  end
  if rest_s == 0 then
    S.freed_at = reached and now or S.freed_at
    queue.pump(freed)
  elseif was_probe or back or nobody_tells then
    queue.pump()
  end
end

-- When time alone changes something next; nil: never.
function queue.deadline()
  local at = slots.next_cooled_at()
  if not pause.is_open() then
    at = math.min(at, pause.deadline())
  end
  at = math.min(at, S.allowance.until_at or at, S.recovery.due or at)
  if S.recovering then
    at = math.min(at, S.recovering.until_at)
  end
  if S.resting > 0 then
    at = math.min(at, waiting.next_wake_at())
  end
  if waiting.ready() then
    at = math.min(at, waiting.longest().queued + S.policy.max_wait_s)
    if queue.gated() and not S.gate.polling and room() then
      at = math.min(at, S.gate.next_at or 0)
    end
  end
  if S.gate.polling then
    at = math.min(at, S.gate.patience_until or at)
  end
  return at < math.huge and at or nil
end

function queue.tick()
  if S.recovering and S.recovering.until_at <= now then
    S.recovering = nil
    queue.pump()
  end
  if S.gate.polling and S.gate.patience_until and S.gate.patience_until <= now then
    queue.polled(nil, 'the replica that asked has not said what it heard')
  end
  if not pause.is_open() and pause.deadline() <= now then
    if S.pause.probe then
      pause.answered(S.pause.probe)
      queue.pump()
    else
      queue.end_pause('elapsed')
    end
  end
  if S.allowance.until_at and S.allowance.until_at <= now then
    queue.forget_allowance()
    queue.pump()
  end
  local woken = waiting.woken()
  while woken do
    queue.line_up(woken)
    queue.pump()
    woken = waiting.woken()
  end
  while slots.next_cooled_at() <= now do
    local freed = slots.cool()
    S.freed_at = now
    if queue.gated() or waiting.ready() then
      queue.pump(freed)
    end
  end
  if queue.gated() then
    queue.pump_if_due()
  end
  if waiting.ready() then
    refuse_late()
  end
end

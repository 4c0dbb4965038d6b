-- What refusals and polls do to the limit and the cooldown: see proxy/core/limit.py, strikes.py, recovery.py, lag.py.

local limit = {}

function limit.has_room(in_flight)
  return not S.limit or in_flight < S.limit
end

function limit.set(value, learns)
  S.limit, S.learns_limit, S.served, S.original, S.evidence, S.learned_at = value, learns, 0, nil, {}, 0
end

function limit.note(seen)
  table.insert(S.evidence, seen)
  if #S.evidence > EVIDENCE_KEPT then
    table.remove(S.evidence, 1)
  end
end

function limit.reduce(grant)
  if not S.limit or S.limit == 1 or grant <= S.reduced_at then
    return
  end
  S.original = S.original or S.limit
  S.limit = S.limit - 1
  S.reduced_at = S.grants
  tell('Reduced', false, S.limit, S.original)
end

function limit.step_up()
  S.limit = S.limit + 1
  limit.note({ at = now_ms, status = 0, kind = 'restored', in_flight = S.in_flight })
  if S.limit >= S.original then
    S.original, S.evidence = nil, {}
  end
  return S.limit
end

-- The limit that a refusal for concurrency teaches, or nil.
function limit.learn(grant)
  local least = math.max(1, S.served)
  if not S.limit and S.learns_limit then
    local accepted = 0
    for _, ticket in ipairs(slots.holding()) do
      accepted = accepted + (ticket.refused and 0 or 1)
    end
    S.limit = math.max(least, accepted)
    S.learned_at, S.reduced_at = S.grants, S.grants
  elseif S.limit and S.limit > least and grant <= S.learned_at then
    S.limit = S.limit - 1
    S.original = S.original and S.original - 1
  else
    return nil
  end
  return S.limit
end

local strikes = {}

function strikes.today()
  return S.strikes.until_at and now < S.strikes.until_at and S.strikes.count or 0
end

function strikes.add()
  local day = math.floor(now_ms / 1000 / DAY_S)
  local same = not S.strikes.day or S.strikes.day == day
  S.strikes = {
    count = (same and strikes.today() or 0) + 1,
    day = day,
    until_at = now + (DAY_S * 1000 - now_ms % (DAY_S * 1000)) / 1000,
  }
end

function strikes.floor_s()
  local policy, allowed, count = S.policy.pause, S.policy.strikes, strikes.today()
  if not allowed or count == 0 then
    return 0
  end
  if count >= allowed then
    return policy.max_s
  end
  return math.min(math.max(policy.min_s, 1) * 2 ^ (count - 1), policy.max_s)
end

-- Whether so few of the day's strikes are used that one may be risked.
function strikes.bear_more()
  return not S.policy.strikes or 2 * strikes.today() < S.policy.strikes
end

local recovery = {}

function recovery.wait()
  S.recovery.due = S.original and S.recovery.after and now + S.recovery.after or nil
end
function recovery.on_trial()
  return S.recovery.trial_until ~= nil and now < S.recovery.trial_until
end
function recovery.configure()
  if S.policy.auto_restore_s ~= S.recovery.configured then
    S.recovery = { configured = S.policy.auto_restore_s, after = S.policy.auto_restore_s }
    recovery.wait()
  end
end
function recovery.refused()
  local it = S.recovery
  if it.trial_until and it.after then
    it.after = recovery.on_trial() and math.min(it.after * 2, LONGEST_TRIAL_S) or it.configured
  end
  it.trial_until = nil
  recovery.wait()
end
function recovery.stepped()
  S.recovery.trial_until = now + S.recovery.after
  recovery.wait()
end
function recovery.forget()
  S.recovery = { configured = S.recovery.configured, after = S.recovery.configured }
end

-- How long the provider goes on counting a request that has ended. Read when it is needed, and kept by itself: it is
-- the largest of the small things.
local lag = {}
local LAG_MIN_S, LAG_MAX_S = 0.05, 5
local UP, DOWN, FIRST_UP = 1.07, 0.998, 1.15
local STILL, ALREADY, HALF, FAR_DOWN, LATER = 0.98, 1.1, 0.5, 0.8, 1.15
local ENDED_KEPT = 256
local L

local function bounded(seconds)
  return math.min(math.max(seconds, LAG_MIN_S), LAG_MAX_S)
end
function lag.begin(start_s)
  L = { estimate_s = bounded(start_s), learned = false, up = FIRST_UP, ended = {} }
  lag.changed = true
end
function lag.get()
  if not L then
    local packed = call('GET', base .. 'lag')
    if packed then
      L = cmsgpack.unpack(packed)
    else
      lag.begin(S.cooldown_s)
    end
  end
  return L
end
function lag.save()
  if lag.changed then
    call('SET', base .. 'lag', cmsgpack.pack(L))
  end
end
local function lag_move(factor)
  L.estimate_s = bounded(L.estimate_s * factor)
end
function lag.ended()
  local ended = lag.get().ended
  ended[#ended + 1] = { now, 0 }
  if #ended > ENDED_KEPT then
    table.remove(ended, 1)
  end
  lag.changed = true
end
local function lag_learn(counted_s, forgotten_s)
  if counted_s >= L.estimate_s * STILL then
    lag_move(math.min(L.up, forgotten_s / L.estimate_s))
    L.learned = true
  elseif forgotten_s <= L.estimate_s * ALREADY then
    L.up = UP
    lag_move(forgotten_s > L.estimate_s * HALF and DOWN or FAR_DOWN)
  end
end
function lag.polled(at_least, at_most, at)
  local before, later = {}, {}
  for _, one in ipairs(lag.get().ended) do
    table.insert(one[1] <= at and before or later, one)
  end
  local counted, forgotten, kept = #before - at_least, #before - at_most, {}
  for position, one in ipairs(before) do
    local age_s = at - one[1]
    if position > forgotten and age_s <= LAG_MAX_S then
      kept[#kept + 1] = one
    end
    if position <= forgotten then
      lag_learn(one[2], age_s)
    elseif position > counted then
      one[2] = age_s
    end
  end
  for _, one in ipairs(later) do
    kept[#kept + 1] = one
  end
  L.ended, lag.changed = kept, true
end
function lag.raise()
  lag.get()
  lag_move(2)
  L.learned, lag.changed = true, true
end
function lag.may_be_counted()
  local it, count = lag.get(), 0
  if it.learned then
    for position = #it.ended, 1, -1 do
      if it.ended[position][1] + 2 * it.estimate_s <= now then
        break
      end
      count = count + 1
    end
  end
  return count
end
function lag.next_look_at()
  local it = lag.get()
  if not it.learned then
    return nil
  end
  local soonest
  for _, one in ipairs(it.ended) do
    local age_s = it.estimate_s
    while one[1] + age_s <= now do
      age_s = age_s * LATER
    end
    soonest = math.min(soonest or math.huge, one[1] + age_s)
  end
  return soonest
end

local cooldown = {}

function cooldown.set(seconds, learns)
  S.learns_cooldown = learns
  if learns then
    lag.begin(seconds)
    seconds = L.estimate_s
  end
  S.cooldown_s, S.told_s = seconds, seconds
end
-- True where there is something to tell.
function cooldown.follow()
  if not S.learns_cooldown then
    return false
  end
  S.cooldown_s = lag.get().estimate_s
  local change = S.cooldown_s / S.told_s
  if 1 / 1.1 < change and change < 1.1 then
    return false
  end
  S.told_s = S.cooldown_s
  tell('CooldownSet', false, S.cooldown_s, 'learned')
  return true
end

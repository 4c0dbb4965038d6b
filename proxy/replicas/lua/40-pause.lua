-- When nothing is granted, and who goes first afterwards: see proxy/core/pause.py.

local pause = {}
local NEXT = {
  BYPASS = { open = 'open', ['probe due'] = 'open', probing = 'probing' },
  END = { ['by hand'] = 'open', paused = 'probe due' },
  SEND = { ['probe due'] = 'probing' },
  ANSWER = { probing = 'open' },
  LEAVE = { probing = 'probe due' },
}
local BLOCKING = { ['by hand'] = true, paused = true, probing = true }

local function move(event)
  local state = NEXT[event][S.pause.state]
  if not state then
    error('no ' .. event .. ' in a pause that is ' .. S.pause.state)
  end
  S.pause.state = state
  return state
end

function pause.is_open()
  return S.pause.state == 'open'
end
function pause.blocks()
  return BLOCKING[S.pause.state]
end
function pause.deadline()
  if S.pause.probe then
    return S.pause.probe_until
  end
  return S.pause.until_at or math.huge
end
function pause.begin(until_at, cause)
  S.pause = { state = cause == OPERATOR and 'by hand' or 'paused', until_at = until_at, cause = cause }
end
function pause.outlasts(until_at)
  return S.pause.until_at ~= nil and S.pause.until_at > until_at
end
function pause.finish()
  move('END')
  S.pause.until_at, S.pause.cause = nil, nil
end
function pause.lift()
  S.pause = { state = 'open' }
end
function pause.passed()
  move('BYPASS')
end
function pause.sent(ticket)
  if move('SEND') == 'probing' then
    S.pause.probe, S.pause.probe_until = ticket.grant, now + PROBE_S
  end
end
local function news(event)
  return function(grant)
    if not S.pause.probe or grant ~= S.pause.probe then
      return false
    end
    move(event)
    S.pause.probe = nil
    return true
  end
end
pause.answered = news('ANSWER')
pause.left = news('LEAVE')

-- Whether a refusal says that we asked for too much.
function pause.ours(seen)
  if seen.kind == 'quota' or seen.kind == 'overload' then
    return false
  end
  return seen.kind == 'concurrency' or seen.kind == 'rate' or seen.status == 429
end
-- For how long a refusal pauses its provider; 0: not at all.
function pause.seconds(seen, floor_s)
  local policy, stated_s = S.policy.pause, nil
  if seen.retry_after_ms then
    stated_s = seen.retry_after_ms / 1000
    if stated_s == 0 then
      stated_s = IMMEDIATELY_S
    end
  end
  if pause.ours(seen) then
    return math.min(math.max(stated_s or policy.default_s, policy.min_s, floor_s), policy.max_s)
  end
  if seen.kind == 'overload' and stated_s then
    return math.min(stated_s, OVERLOAD_MAX_S, policy.max_s)
  end
  return 0
end

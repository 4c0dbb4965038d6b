#!lua flags=allow-oom
-- One provider's state in Redis, and what every transition is made of.
--
-- Rule 1: these files are one script, in the order of their numbers. It runs the steps that ARGV[1] names, one after
--         the other, and nothing else happens meanwhile: a transition is whole, or has not happened.
-- Rule 2: proxy/core is the model. Names are its names; what it does, this does, and the same state machine tests both.
-- Rule 3: `now` is Redis' own clock, in seconds. No host's clock is compared with anything here.
-- Rule 4: a server without memory for more still takes what little this needs: a slot that could not be given back
--         would be lost.
-- Rule 5: all keys begin with KEYS[1], which has the provider as its hash tag, so that they lie on one node.

local base = KEYS[1]
local call = redis.call
-- {replica, number, run, channel, steps = {{name, …}, …}}; `now` and `now_ms` stand in for Redis' clock in tests.
local request = cmsgpack.unpack(ARGV[1])
local now = request.now
if not now then
  local time = call('TIME')
  now = tonumber(time[1]) + tonumber(time[2]) / 1e6
end
local now_ms = request.now_ms or math.floor(now * 1000)
local run = request.run or string.match(call('INFO', 'server'), 'run_id:(%x+)')

local LEASE_S = 15
local PROBE_S = 1
local OVERLOAD_MAX_S, IMMEDIATELY_S = 60, 1
local ON_ITS_WAY_S = 0.15
local FRESH_S, POLLS_BELIEVED = 15, 3
local RECYCLED_S, RAISED_S = 2, 600
local EVIDENCE_KEPT, PAST_KEPT = 20, 128
local DAY_S, LONGEST_TRIAL_S = 86400, 86400
local OPERATOR = 'operator'

-- Small things that are read and written as one. `limit` absent: no limit. `until_at` of a pause absent: no pause.
local S
local function load_state()
  local packed = call('GET', base .. 'state')
  S = packed and cmsgpack.unpack(packed) or nil
end
local function save_state()
  call('SET', base .. 'state', cmsgpack.pack(S))
end

-- Everything but the stars and who lives; for keys that do not belong together. It looks through the whole database, so
-- it is for faults alone.
local KEPT = { stars = 'set', leases = 'zset' }
local function wipe()
  local pattern, cursor = string.gsub(base, '[%*%?%[%]\\]', '\\%0') .. '*', '0'
  repeat
    local found = call('SCAN', cursor, 'MATCH', pattern, 'COUNT', 1000)
    cursor = found[1]
    for _, key in ipairs(found[2]) do
      local kind = KEPT[string.sub(key, #base + 1)]
      if not kind or call('TYPE', key).ok ~= kind then
        call('DEL', key)
      end
    end
  until cursor == '0'
end

-- What happened, in order: {name, replica, …}; `replica` is whose request it is about, false: it is about them all.
local out = {}
local function tell(...)
  out[#out + 1] = { ... }
end

-- A request: {id, workspace, conversation, prompt, path, replica, seq, queued, turn} and, while it holds a slot,
-- {grant, granted, refused, taken}. It is in `tickets` while it waits or holds.
local function ticket_of(id)
  local packed = call('HGET', base .. 'tickets', id)
  return packed and cmsgpack.unpack(packed) or nil
end
local function keep(ticket)
  call('HSET', base .. 'tickets', ticket.id, cmsgpack.pack(ticket))
end
local function forget(ticket)
  call('HDEL', base .. 'tickets', ticket.id)
  call('SREM', base .. 'of:' .. ticket.replica, ticket.id)
end
-- The held slot of this id and grant; nil where it is not held any more.
local function holder(id, grant)
  local ticket = ticket_of(id)
  return ticket and ticket.grant == grant and ticket or nil
end

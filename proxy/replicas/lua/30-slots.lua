-- Who holds a slot, and which slots rest: see proxy/core/slots.py.
--
-- `held` has the ids by grant, `cooling` the grants by the end of the rest (with what they were, in `rested`), `past`
-- the last that were given back.

local slots = {}

local function grant_member(grant)
  return string.format('%016d', grant)
end

function slots.grant(ticket)
  S.grants = S.grants + 1
  S.in_flight = S.in_flight + 1
  S.held = S.held + 1
  ticket.grant, ticket.granted, ticket.refused, ticket.taken = S.grants, now, nil, nil
  keep(ticket)
  call('ZADD', base .. 'held', S.grants, ticket.id)
end

-- End the hold of `ticket`; whoever wants it to wait again keeps it.
function slots.give_back(ticket, rest_s)
  call('ZREM', base .. 'held', ticket.id)
  call('HDEL', base .. 'progress', ticket.id)
  S.held = S.held - 1
  local held_s = now - ticket.granted
  if ticket.taken then
    S.taken = S.taken - 1
    call('LPUSH', base .. 'past', cmsgpack.pack({ held_s, ticket }))
    call('LTRIM', base .. 'past', 0, PAST_KEPT - 1)
  end
  if rest_s > 0 then
    call('ZADD', base .. 'cooling', now + rest_s, grant_member(ticket.grant))
    call('HSET', base .. 'rested', ticket.grant, cmsgpack.pack(ticket))
  else
    S.in_flight = S.in_flight - 1
  end
  return held_s
end

function slots.next_cooled_at()
  if S.in_flight == S.held then
    return math.huge
  end
  local found = call('ZRANGE', base .. 'cooling', 0, 0, 'WITHSCORES')
  return found[2] and tonumber(found[2]) or math.huge
end

-- The slot whose rest ends next is free from now on.
function slots.cool()
  local member = call('ZRANGE', base .. 'cooling', 0, 0)[1]
  call('ZREM', base .. 'cooling', member)
  local grant = tonumber(member)
  local packed = call('HGET', base .. 'rested', grant)
  call('HDEL', base .. 'rested', grant)
  S.in_flight = S.in_flight - 1
  return cmsgpack.unpack(packed)
end

function slots.holding()
  local found = {}
  for _, id in ipairs(call('ZRANGE', base .. 'held', 0, -1)) do
    found[#found + 1] = ticket_of(id)
  end
  return found
end

-- From when on a number that may be `age_s` old counts the newest ones, latest first.
function slots.unseen(age_s)
  local wait_s, found, position = ON_ITS_WAY_S + age_s, {}, -1
  while true do
    local id = call('ZRANGE', base .. 'held', position, position)[1]
    local ticket = id and ticket_of(id)
    if not ticket or now - ticket.granted >= wait_s then
      return found
    end
    if age_s > 0 or not ticket.taken then
      found[#found + 1] = ticket.granted + wait_s
    end
    position = position - 1
  end
end

function slots.mark_taken(ticket)
  if not ticket.taken then
    ticket.taken = true
    keep(ticket)
    S.taken = S.taken + 1
  end
end

function slots.mark_refused(ticket)
  ticket.refused = true
  if ticket.taken then
    ticket.taken = nil
    S.taken = S.taken - 1
  end
  keep(ticket)
end

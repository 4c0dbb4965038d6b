-- Who waits, and whose turn it is: see proxy/core/waitlist.py.
--
-- `room:W` has the waiters of one workspace in order, `heads` the first of each room, starred ones before the others.
-- `queue` has everybody by the time of queuing, `rests` those who may not be next before their time.

local waiting = {}

local function place(ticket)
  return string.format('%016d:%016d:%s', ticket.prompt, ticket.seq, ticket.id)
end
local function id_in(member)
  return string.sub(member, 35)
end
local function rank(workspace)
  return 1 - call('SISMEMBER', base .. 'stars', workspace)
end
local function first_of(room)
  return call('ZRANGE', room, 0, 0)[1]
end

function waiting.ready()
  return S.ready > 0
end

function waiting.add(ticket)
  local room, mine = base .. 'room:' .. ticket.workspace, place(ticket)
  local first = first_of(room)
  call('ZADD', room, 0, mine)
  S.turn = S.turn + 1
  ticket.turn = S.turn
  call('ZADD', base .. 'queue', ticket.turn, ticket.id)
  keep(ticket)
  S.ready = S.ready + 1
  if not first or mine < first then
    if first then
      call('ZREM', base .. 'heads', first)
    end
    call('ZADD', base .. 'heads', rank(ticket.workspace), mine)
  end
end

local function leave_room(ticket)
  local room, mine = base .. 'room:' .. ticket.workspace, place(ticket)
  local was_first = first_of(room) == mine
  call('ZREM', room, mine)
  call('ZREM', base .. 'queue', ticket.id)
  S.ready = S.ready - 1
  if was_first then
    call('ZREM', base .. 'heads', mine)
    local next_one = first_of(room)
    if next_one then
      call('ZADD', base .. 'heads', rank(ticket.workspace), next_one)
    end
  end
end

function waiting.first()
  local head = first_of(base .. 'heads')
  return head and ticket_of(id_in(head)) or nil
end

-- Take out whose turn it is; nil: nobody is ready.
function waiting.take()
  local ticket = waiting.first()
  if ticket then
    leave_room(ticket)
  end
  return ticket
end

-- Take out a waiter, wherever it stands; it is known no more.
function waiting.remove(id)
  local ticket = ticket_of(id)
  if not ticket or ticket.grant then
    return nil
  end
  if call('ZREM', base .. 'rests', id) == 1 then
    S.resting = S.resting - 1
  else
    leave_room(ticket)
  end
  forget(ticket)
  return ticket
end

function waiting.longest()
  local id = call('ZRANGE', base .. 'queue', 0, 0)[1]
  return id and ticket_of(id) or nil
end

function waiting.rest(ticket, until_at)
  keep(ticket)
  call('ZADD', base .. 'rests', until_at, ticket.id)
  S.resting = S.resting + 1
end

function waiting.next_wake_at()
  local found = call('ZRANGE', base .. 'rests', 0, 0, 'WITHSCORES')
  return found[2] and tonumber(found[2]) or math.huge
end

function waiting.woken()
  if S.resting == 0 or waiting.next_wake_at() > now then
    return nil
  end
  local id = call('ZRANGE', base .. 'rests', 0, 0)[1]
  call('ZREM', base .. 'rests', id)
  S.resting = S.resting - 1
  return ticket_of(id)
end

function waiting.star_changed(workspace)
  local first = first_of(base .. 'room:' .. workspace)
  if first then
    call('ZADD', base .. 'heads', rank(workspace), first)
  end
end

-- Every waiter, in the order of service.
function waiting.ordered()
  local everybody = {}
  for _, key in ipairs({ 'queue', 'rests' }) do
    for _, id in ipairs(call('ZRANGE', base .. key, 0, -1)) do
      local ticket = ticket_of(id)
      everybody[#everybody + 1] = { rank(ticket.workspace) .. ':' .. place(ticket), id }
    end
  end
  table.sort(everybody, function(one, other)
    return one[1] < other[1]
  end)
  return everybody
end

-- SPDX-License-Identifier: BSD-2-Clause
-- The guest's program of walkers.test in Lua: as stack.py.
local ROUNDS = 60
local seen = {}

local outer = ""  -- the stack that has resumed this coroutine

local function chain(level)
  local words = {}
  while true do
    local info = debug.getinfo(level, "Sl")
    if not info then break end
    if info.what ~= "C" then
      table.insert(words, 1, string.format("%s:%d@%s:%d", info.short_src, info.linedefined,
                                           info.short_src, info.currentline))
    end
    level = level + 1
  end
  return table.concat(words, ";")
end

local function say()
  local line = outer .. chain(3)
  if not seen[line] then
    seen[line] = true
    print("STACK lua " .. line)
  end
end

local function spin()
  say()
  local n, total = 4000, 0
  while n > 0 do
    total = total + n
    n = n - 1
  end
  return total
end

local function first()
  for _ = 1, 5 do
    spin()
  end
end

local function second()
  for _ = 1, 8 do
    spin()
  end
end

local function through_c()
  pcall(function()
    for _ = 1, 7 do
      spin()
    end
  end)
end

local function numbers()
  for _ = 1, 3 do
    coroutine.yield(spin())
  end
end

local function resumed()
  local next = coroutine.wrap(numbers)
  for _ = 1, 3 do
    outer = chain(2) .. ";" next() outer = ""
  end
end

local function main()
  for _ = 1, ROUNDS do
    first()
    second()
    through_c()
    resumed()
  end
end

main()

-- What a person does in Neovim with a training script, and what they have to see. Run by test_neovim.py, which sets
-- SERVER_CMD (a JSON list), SCRIPT (a copy of a real script), EXPECTED (the script distributed) and, of a line that breaks a
-- restriction, BREAKING and CODE. Prints a line a check; exits with 1 if one fails. Works from Neovim 0.7 on.

local failed = 0
local function check(name, ok, extra)
  if not ok then failed = failed + 1 end
  io.stdout:write(string.format("%s %s%s\n", ok and "PASS" or "FAIL", name, ok and "" or ": " .. tostring(extra)))
end

local function read(path)
  local file = assert(io.open(path, "rb"))
  local data = file:read("*a")
  file:close()
  return data
end

local function wait(condition, milliseconds) return vim.wait(milliseconds or 20000, condition, 10) end
local function separate_undo() vim.cmd("let &undolevels = &undolevels") end

local exited
local function run()
  local script, original = vim.env.SCRIPT, read(vim.env.SCRIPT)
  vim.cmd("edit " .. script)
  local buf = vim.api.nvim_get_current_buf()
  vim.bo[buf].filetype = "python"
  local id = vim.lsp.start_client({
    name = "horovodize",
    cmd = vim.fn.json_decode(vim.env.SERVER_CMD),
    root_dir = vim.fn.fnamemodify(script, ":h"),
    on_exit = function(code, signal) exited = { code, signal } end,
  })
  vim.lsp.buf_attach_client(buf, id)
  local client = vim.lsp.get_client_by_id(id)
  check("the server starts", wait(function() return client.initialized == true end))

  local function found(code, severity)
    for _, d in ipairs(vim.diagnostic.get(buf)) do
      if (d.code or vim.tbl_get(d, "user_data", "lsp", "code")) == code and d.severity == severity then return d end
    end
  end

  -- the hint at the loop
  check("a hint at the loop", wait(function() return found("HVD001", vim.diagnostic.severity.HINT) end),
    vim.inspect(vim.diagnostic.get(buf)))
  local hint = found("HVD001", vim.diagnostic.severity.HINT)

  -- hover shows the loop
  local function hover()
    local before = vim.api.nvim_list_wins()
    vim.api.nvim_win_set_cursor(0, { hint.lnum + 1, hint.col })
    vim.lsp.buf.hover()
    local shown
    wait(function()
      for _, win in ipairs(vim.api.nvim_list_wins()) do
        if not vim.tbl_contains(before, win) then shown = win end
      end
      return shown ~= nil
    end)
    if not shown then return "" end
    local text = table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(shown), 0, -1, false), "\n")
    vim.api.nvim_win_close(shown, true)
    return text
  end
  local text = hover()
  check("hover shows the loop", text:find("training loop", 1, true) ~= nil, text)
  check("hover shows what distributing does", text:find("Distributing with Horovod would do here", 1, true) ~= nil, text)

  -- diagnostics: softly while typing, as a warning when saved, gone when undone and saved
  separate_undo()
  vim.api.nvim_buf_set_lines(buf, -1, -1, false, { vim.env.BREAKING })
  check("soft while typing", wait(function() return found(vim.env.CODE, vim.diagnostic.severity.INFO) end),
    vim.inspect(vim.diagnostic.get(buf)))
  vim.cmd("silent write")
  check("a warning on save", wait(function() return found(vim.env.CODE, vim.diagnostic.severity.WARN) end),
    vim.inspect(vim.diagnostic.get(buf)))
  vim.cmd("silent undo | silent write")
  check("undo takes it back", wait(function()
    return not found(vim.env.CODE, vim.diagnostic.severity.WARN) and not found(vim.env.CODE, vim.diagnostic.severity.INFO)
  end), vim.inspect(vim.diagnostic.get(buf)))
  check("the file is as it was", read(script) == original)

  -- the quick fix, chosen from the menu as a person would
  separate_undo()
  hint = found("HVD001", vim.diagnostic.severity.HINT)
  vim.api.nvim_win_set_cursor(0, { hint.lnum + 1, hint.col })
  local offered = {}
  vim.ui.select = function(items, options, choose)
    for _, item in ipairs(items) do
      local action = item.action or item[2]
      table.insert(offered, action.title .. " (" .. action.kind .. ")")
    end
    for i, item in ipairs(items) do
      local action = item.action or item[2]
      if action.title == "Distribute with Horovod" and action.kind == "quickfix" then return choose(item, i) end
    end
    choose(nil)
  end
  local tick = vim.api.nvim_buf_get_changedtick(buf)
  vim.lsp.buf.code_action()
  wait(function() return vim.api.nvim_buf_get_changedtick(buf) ~= tick end)
  check("the quick fix is offered", vim.tbl_contains(offered, "Distribute with Horovod (quickfix)"), vim.inspect(offered))
  vim.cmd("silent write")
  check("the quick fix distributes the file", read(script) == read(vim.env.EXPECTED), read(script))
  check("the hint is gone", wait(function() return not found("HVD001", vim.diagnostic.severity.HINT) end),
    vim.inspect(vim.diagnostic.get(buf)))

  -- undo restores every byte
  vim.cmd("silent undo | silent write")
  check("undo restores every byte", read(script) == original, read(script))
  check("the hint is back", wait(function() return found("HVD001", vim.diagnostic.severity.HINT) end),
    vim.inspect(vim.diagnostic.get(buf)))

  client.stop()
  check("a clean exit", wait(function() return exited ~= nil end) and exited[1] == 0 and exited[2] == 0, vim.inspect(exited))
end

local ok, err = xpcall(run, debug.traceback)
if not ok then check("the script runs", false, err) end
io.stdout:write(failed == 0 and "ALL PASSED\n" or string.format("%d FAILED\n", failed))
for _, client in pairs(vim.lsp.get_active_clients()) do client.stop(true) end
vim.cmd(failed == 0 and "qall!" or "cquit 1")

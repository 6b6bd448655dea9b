-- Whether a documented set-up works: run by test_documented.py, after the set-up itself, with SCRIPT. From Neovim 0.7 on.
local function wait(condition) return vim.wait(30000, condition, 10) end
vim.cmd("filetype on")
vim.cmd("edit " .. vim.env.SCRIPT)
local buf = vim.api.nvim_get_current_buf()
local hinted = wait(function() return #vim.diagnostic.get(buf, { severity = vim.diagnostic.severity.HINT }) > 0 end)
local clients = vim.lsp.get_active_clients()
io.stdout:write(hinted and "HINTED\n" or "NO HINT\n")
local preview = { command = "horovodize.preview", arguments = { vim.uri_from_bufnr(buf) } }
for _, answer in pairs(vim.lsp.buf_request_sync(buf, "workspace/executeCommand", preview, 30000) or {}) do
  io.stdout:write(answer.result[1].newText:find("share = slice") and "SPLITS DATA\n" or "LEAVES DATA\n")
end
for _, client in ipairs(clients) do client.stop() end
local ended = wait(function() return #vim.lsp.get_active_clients() == 0 end)
vim.cmd(hinted and ended and #clients == 1 and "qall!" or "cquit 1")

/** Records that are no events of their own, as data. What stands in neither list nor in the decoder is an unknown record. */

/** Bus: bookkeeping of the server, and what other events say better. */
export const BUS_IGNORED: ReadonlySet<string> = new Set([
  'catalog.updated',
  'file.watcher.updated',
  'ide.installed',
  'installation.update-available',
  'installation.updated',
  'integration.updated',
  'lsp.client.diagnostics',
  'lsp.updated',
  'mcp.browser.open.failed',
  'mcp.tools.changed',
  'message.part.removed',
  'message.removed',
  'models-dev.refreshed',
  'plugin.added',
  'project.updated',
  'pty.created',
  'pty.deleted',
  'pty.exited',
  'pty.updated',
  'question.asked',
  'question.rejected',
  'question.replied',
  'reference.updated',
  'server.connected',
  'server.heartbeat',
  'server.instance.disposed',
  'session.deleted',
  'session.diff',
  'todo.updated',
  'tui.command.execute',
  'tui.prompt.append',
  'tui.session.select',
  'tui.toast.show',
  'vcs.branch.updated',
  'worktree.failed',
  'worktree.ready',
]);

/** Bus: events that tell people something. */
export const BUS_NOTICES: ReadonlySet<string> = new Set(['session.compacted']);

/** Parts of a message that carry nothing a recording shows: attachments, snapshots, marks of the CLI. */
export const PARTS_IGNORED: ReadonlySet<string> = new Set([
  'agent',
  'compaction',
  'file',
  'patch',
  'snapshot',
  'subtask',
]);

/** Claude Code: uses a scripted Anthropic API, needs no login. */
import { INSIDE, MODEL_URL, type Rehearsed, SKILL_FILE, TOYBOX } from './agent.ts';

/** The program is in an optional package per platform; the main package only looks for it. */
function program(): string | null {
  if (process.platform !== 'linux' || !['x64', 'arm64'].includes(process.arch)) return null;
  const report = process.report.getReport() as { header?: { glibcVersionRuntime?: string } };
  const libc = report.header?.glibcVersionRuntime ? '' : '-musl';
  return `node_modules/@anthropic-ai/claude-code-linux-${process.arch}${libc}/claude`;
}

const KEY = 'sk-ant-rehearsal-000';

const MCP_CONFIG = JSON.stringify({ mcpServers: { toybox: TOYBOX } });

export const claude: Rehearsed = {
  id: 'claude',
  package: { name: '@anthropic-ai/claude-code', version: '2.1.325', program: program() },
  dialect: 'anthropic',
  env: {
    ANTHROPIC_BASE_URL: MODEL_URL,
    ANTHROPIC_API_KEY: KEY,
    CLAUDE_CONFIG_DIR: `${INSIDE.home}/.claude`,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
    DISABLE_ERROR_REPORTING: '1',
    DISABLE_TELEMETRY: '1',
  },
  takes_input: true,
  terminal: {
    args: ['--permission-mode', 'bypassPermissions'],
    home: (work) => ({
      '.claude/.claude.json': JSON.stringify({
        hasCompletedOnboarding: true,
        bypassPermissionsModeAccepted: true,
        theme: 'dark',
        customApiKeyResponses: { approved: [KEY.slice(-20)], rejected: [] },
        projects: { [work]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true } },
      }),
      '.claude/settings.json': JSON.stringify({ skipDangerousModePermissionPrompt: true }),
    }),
    quit: ['/exit', '\r'],
  },
  machine_settings: ['/etc/claude-code'],
  native({ tool, input }) {
    if (tool !== 'Task') return { tool, input };
    const where = { subagent_type: 'general-purpose', run_in_background: false };
    return { tool: 'Agent', input: { ...input, ...where } };
  },
  setUp: (need) =>
    need === 'skill'
      ? { files: { '.claude/skills/greeting-style/SKILL.md': SKILL_FILE }, args: [] }
      : { files: {}, args: ['--mcp-config', MCP_CONFIG, '--strict-mcp-config'] },
  without: {},
  differs: {
    // After SIGTERM it prints no end record, unlike after SIGINT. The tokens are only in the session file.
    timeout: { complete: false },
  },
};

/** Kilo: a variant of OpenCode with its own names for folders and variables. */
import { INSIDE, type Rehearsed, SKILL_FILE } from './agent.ts';
import { ALLOWING, CONFIG, MCP_CONFIG, opencode, RIPGREP } from './opencode.ts';

/** The main package's newest version needs a build that is not published. */
const BUILD = '@kilocode/cli-linux-x64';
const HAS_BUILD = process.platform === 'linux' && process.arch === 'x64';

const AS_OPENCODE = 'is rehearsed with opencode, which has the same code for it';

export const kilo: Rehearsed = {
  ...opencode,
  id: 'kilo',
  package: {
    name: BUILD,
    version: '7.7.9',
    program: HAS_BUILD ? `node_modules/${BUILD}/bin/kilo` : null,
    beside: [RIPGREP],
  },
  env: {
    KILO_DISABLE_AUTOUPDATE: '1',
    KILO_DISABLE_DEFAULT_PLUGINS: '1',
    KILO_DISABLE_LSP_DOWNLOAD: '1',
    KILO_DISABLE_MODELS_FETCH: '1',
    KILO_DISABLE_SESSION_INGEST: '1',
    KILO_DISABLE_SHARE: '1',
    KILO_TELEMETRY_LEVEL: 'off',
    PATH: opencode.env.PATH ?? INSIDE.bin,
  },
  home: { '.config/kilo/kilo.json': CONFIG },
  terminal: {
    args: [],
    home: () => ({ '.config/kilo/kilo.json': ALLOWING }),
    quit: ['\x03', '\x03'],
  },
  machine_settings: ['/etc/kilo'],
  setUp: (need) =>
    need === 'skill'
      ? { files: { '.kilo/skill/greeting-style/SKILL.md': SKILL_FILE }, args: [] }
      : { files: { 'kilo.json': MCP_CONFIG }, args: [] },
  // It takes several seconds to start.
  without: { 'long-prompt': AS_OPENCODE, timeout: AS_OPENCODE, kill: AS_OPENCODE },
};

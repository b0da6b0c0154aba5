/** A home with many idle sessions of all agents: their recordings with other ids, days and folders, as the CLIs keep them. */
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

const AGENTS = join(import.meta.dirname, '..', 'src', 'agents');
/** By agent: the beginning of a recording's paths, and of the same paths in a home. */
const KEPT: Readonly<Record<string, readonly [recorded: string, home: string]>> = {
  claude: ['.claude', '.claude'],
  codex: ['.codex', '.codex'],
  copilot: ['', '.copilot/session-state/'],
  gemini: ['dot-gemini', '.gemini'],
  grok: ['sessions', '.grok/sessions'],
  kimi: ['.kimi-code', '.kimi-code'],
  omp: ['sessions', '.omp/agent/sessions'],
  pi: ['sessions', '.pi/agent/sessions'],
  qwen: ['.qwen', '.qwen'],
  cline: ['.cline', '.cline'],
  cursor: ['.cursor', '.cursor'],
  antigravity: ['.gemini', '.gemini'],
};
/** The beginning of a session's id in a path. */
const ID = /[0-9a-f]{8}(?=-[0-9a-f]{4}-)|\d{13}(?=_)|[0-9a-f]{8}(?=\.jsonl)/;
/** Folders that a CLI names after the working folder. */
const PROJECT = /home-user-project|mnt-room-work|%2Fmnt%2Froom%2Fwork|wd_project|(?<=tmp\/)project/;
const PROJECTS = 400;
const DAYS = 360;
const DAY_MS = 86_400_000;
const FILE_BYTES_MOST = 60_000;

interface Recorded {
  /** Their paths in a home, and contents. */
  files: { path: string; text: string }[];
  id: string;
}

function recordings(): Recorded[] {
  return Object.entries(KEPT).flatMap(([agent, [recorded, home]]) => {
    const testdata = join(AGENTS, agent, 'testdata');
    return readdirSync(testdata).flatMap((scenario) => {
      const root = join(testdata, scenario, 'session');
      if (!existsSync(root)) return [];
      const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
        .filter((name) => name.startsWith(recorded) && statSync(join(root, name)).isFile())
        .map((name) => ({
          // Some recordings begin at the home, others at the folder of sessions.
          path: name.startsWith(home) ? name : home + name.slice(recorded.length),
          text: readFileSync(join(root, name), 'utf8'),
        }));
      const id = files.map(({ path }) => ID.exec(path)?.[0]).find((found) => found !== undefined);
      const large = files.some(({ text }) => text.length > FILE_BYTES_MOST);
      return id === undefined || large ? [] : [{ files, id }];
    });
  });
}

interface Written {
  bytes: number;
  /** Appends a record to this many sessions: a copy of their last one. */
  grow(sessions: number): void;
}

/** Writes about `count` sessions. */
export function writeSessions(home: string, count: number): Written {
  const all = recordings();
  const now_ms = Date.now();
  let bytes = 0;
  const grows: { path: string; line: string }[] = [];
  for (let n = 0; n < count; n++) {
    const { files, id } = all[n % all.length] as Recorded;
    const nth = Math.floor(n / all.length);
    const at_ms = now_ms - DAY_MS * (2 + (n % DAYS)) - (n % 86_400) * 1000;
    const day = new Date(at_ms).toISOString().slice(0, 10);
    const own = /^\d{13}$/.test(id) ? String(1_600_000_000_000 + n) : (0x10000000 + n).toString(16);
    const change = (text: string) =>
      text
        .replaceAll(id, own)
        .replaceAll(/2026-11-1\d/g, day)
        .replaceAll(/2026\/11\/1\d/g, day.replaceAll('-', '/'))
        .replaceAll(/\b179\d{10}\b/g, (ms) => String(at_ms + (Number(ms) % 3_600_000)));
    for (const { path, text } of files) {
      const to = join(home, change(path.replace(PROJECT, `$&-${nth % PROJECTS}`)));
      const content = change(text);
      mkdirSync(dirname(to), { recursive: true });
      writeFileSync(to, content);
      utimesSync(to, at_ms / 1000, at_ms / 1000);
      bytes += content.length;
      if (/\/\.(?:pi|claude)\/.*\.jsonl$/.test(to) && !to.includes('subagents'))
        grows.push({ path: to, line: `${content.trimEnd().split('\n').at(-1)}\n` });
    }
  }
  return {
    bytes,
    grow(sessions) {
      for (const { path, line } of grows.slice(0, sessions)) appendFileSync(path, line);
    },
  };
}

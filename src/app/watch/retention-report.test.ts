import { chmodSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { testFolder } from '../../../test/fixtures/folder.ts';
import { claude } from '../../agents/claude/index.ts';
import { codex } from '../../agents/codex/index.ts';
import { gemini } from '../../agents/gemini/index.ts';
import { findAgent } from '../../agents/registry.ts';
import type { Agent } from '../../model/agent.ts';
import { examine } from '../runs/doctor.ts';
import { isAtRisk, retentionLines, retentionReport } from './retention-report.ts';

const DAY_MS = 86_400_000;
const NOW_MS = Date.UTC(2026, 10, 18, 12);

function put(path: string, text: string, modified_ms = NOW_MS): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  utimesSync(path, modified_ms / 1000, modified_ms / 1000);
  return path;
}

const ruleOf = (agent: Agent, env: NodeJS.ProcessEnv) => agent.session?.retention?.(env) ?? null;

verifies('WA-11', 'Claude Code deletes sessions after 30 days, or after cleanupPeriodDays', () => {
  const HOME = testFolder();
  const rule = {
    days: 30,
    what: 'deletes',
    setting: 'cleanupPeriodDays',
    source: null,
    also: null,
  };
  expect(ruleOf(claude, { HOME })).toEqual(rule);
  const source = put(join(HOME, '.claude/settings.json'), '{"cleanupPeriodDays": 365}');
  expect(ruleOf(claude, { HOME })).toEqual({ ...rule, days: 365, source });
  const own = put(join(HOME, 'x/settings.json'), '{"cleanupPeriodDays": 7}');
  expect(ruleOf(claude, { HOME, CLAUDE_CONFIG_DIR: join(HOME, 'x') })).toEqual({
    ...rule,
    days: 7,
    source: own,
  });
});

for (const [what, text] of [
  ['with comments', '{ // keep\n "cleanupPeriodDays": 365 }'],
  ['cut off', '{"cleanupPeriodDays": 36'],
  ['with a text', '{"cleanupPeriodDays": "365"}'],
  ['with zero', '{"cleanupPeriodDays": 0}'],
  ['empty', ''],
  ['too large', `{"a":"${'x'.repeat(1024 * 1024)}"}`],
  ['binary', '\u0000\u0001'],
] as const)
  verifies(
    'WA-11',
    `a settings file ${what} is unknown, is named, and is not changed`,
    async () => {
      const HOME = testFolder();
      const source = put(join(HOME, '.claude/settings.json'), text);
      expect(ruleOf(claude, { HOME })).toMatchObject({ days: null, source });
      const [report] = await reports(claude, { HOME });
      expect(isAtRisk(report!)).toBe(true);
      expect(retentionLines([report!])).toEqual([
        `Claude Code: it is unknown when sessions are deleted: ${source} cannot be read, or has an invalid cleanupPeriodDays`,
      ]);
      expect(readFileSync(source, 'utf8')).toBe(text);
    },
  );

verifies(
  'WA-11',
  'a settings file without permission, or a folder in its place, is unknown',
  () => {
    const HOME = testFolder();
    mkdirSync(join(HOME, '.claude/settings.json'), { recursive: true });
    expect(ruleOf(claude, { HOME })).toMatchObject({ days: null });
    if (process.getuid?.() === 0) return;
    const path = put(join(HOME, '.gemini/settings.json'), '{}');
    chmodSync(path, 0);
    expect(ruleOf(gemini, { HOME })).toMatchObject({ days: null, source: path });
  },
);

verifies(
  'WA-11',
  'Gemini CLI deletes sessions after 30 days, unless general.sessionRetention says otherwise',
  () => {
    const HOME = testFolder();
    const system = join(HOME, 'system.json');
    const env = { HOME, GEMINI_CLI_SYSTEM_SETTINGS_PATH: system };
    const rule = { what: 'deletes', setting: 'general.sessionRetention.maxAge', also: null };
    expect(ruleOf(gemini, env)).toEqual({ ...rule, days: 30, source: null });
    const set = (retention: object) =>
      put(
        join(HOME, '.gemini/settings.json'),
        JSON.stringify({ general: { sessionRetention: retention } }),
      );
    const source = set({ enabled: true, maxAge: '2w', maxCount: 50 });
    const also = 'it keeps at most 50 sessions per project';
    expect(ruleOf(gemini, env)).toEqual({ ...rule, days: 14, source, also });
    expect(ruleOf(gemini, { HOME: testFolder(), GEMINI_CLI_HOME: HOME })?.days).toBe(14);
    set({ maxAge: '12h' });
    expect(ruleOf(gemini, env)?.days).toBe(0.5);
    set({ maxAge: 'soon' });
    expect(ruleOf(gemini, env)).toMatchObject({ days: null, source });
    set({ enabled: false });
    expect(ruleOf(gemini, env)).toBe(null);
    put(system, '{"general":{"sessionRetention":{"enabled":true,"maxAge":"3d"}}}');
    expect(ruleOf(gemini, env)).toMatchObject({ days: 3, source: system });
  },
);

verifies('WA-11', 'Codex compresses sessions after 7 days if the feature is on', () => {
  const HOME = testFolder();
  const config = join(HOME, '.codex/config.toml');
  expect(ruleOf(codex, { HOME })).toBe(null);
  for (const [toml, on] of [
    ['model = "x"\n', false],
    ['[features]\nlocal_thread_store_compression = true\n', true],
    ['features.local_thread_store_compression = true # yes\n', true],
    ['[features]\r\nother = true\r\n local_thread_store_compression=true\r\n', true],
    ['[features]\nlocal_thread_store_compression = false\n', false],
    ['[other]\nlocal_thread_store_compression = true\n', false],
    ['[features]\n# local_thread_store_compression = true\n', false],
  ] as const) {
    put(config, toml);
    expect({ toml, on: ruleOf(codex, { HOME }) !== null }).toEqual({ toml, on });
  }
  put(config, 'features.local_thread_store_compression = true');
  expect(ruleOf(codex, { HOME })).toMatchObject({ days: 7, what: 'compresses', source: config });
});

const reports = (agent: Agent, env: NodeJS.ProcessEnv, stored: readonly string[] = []) =>
  retentionReport({
    env,
    now_ms: NOW_MS,
    agents: [agent],
    isStored: (id, session_id) => id === agent.id && stored.includes(session_id),
  });

function sessions(HOME: string, ages: Readonly<Record<string, number>>): void {
  for (const [id, days] of Object.entries(ages))
    put(join(HOME, '.claude/projects/-work', `${id}.jsonl`), '{}\n', NOW_MS - days * DAY_MS);
}

verifies(
  'WA-11',
  'the report counts sessions that are deleted within 7 days, and those that tacho has',
  async () => {
    const HOME = testFolder();
    const none = await reports(claude, { HOME });
    expect(none).toMatchObject([{ sessions: 0, soon: 0, next_ms: null }]);
    expect(retentionLines(none)).toEqual([]);
    sessions(HOME, { overdue: 40, soon: 25, later: 20, now: 0 });
    const [report] = await reports(claude, { HOME }, ['soon', 'later']);
    expect(report).toMatchObject({
      agent: 'claude',
      sessions: 4,
      soon: 2,
      overdue: 1,
      stored: 1,
      next_ms: NOW_MS - 10 * DAY_MS,
    });
    expect(isAtRisk(report!)).toBe(true);
    expect(retentionLines([report!])).toEqual([
      'Claude Code: deletes sessions 30 days after their last change (cleanupPeriodDays, the default): 2 of 4 within 7 days, 1 of them at its next start; tacho has 1 of them: run tacho import claude --all, or tacho watch',
    ]);
    const [whole] = await reports(claude, { HOME }, ['soon', 'overdue']);
    expect(isAtRisk(whole!)).toBe(false);
    expect(retentionLines([whole!])[0]).toMatch(/; tacho has all of them$/);
  },
);

verifies('WA-11', 'the report names the day on which the first session is deleted', async () => {
  const HOME = testFolder();
  sessions(HOME, { a: 28, b: 25 });
  expect(retentionLines(await reports(claude, { HOME }, ['a', 'b']))[0]).toMatch(
    /: 2 of 2 within 7 days, the first on 2026-11-20; tacho has all of them$/,
  );
});

verifies('WA-11', 'a longer period moves the date', async () => {
  const HOME = testFolder();
  sessions(HOME, { a: 40, b: 25 });
  const source = put(join(HOME, '.claude/settings.json'), '{"cleanupPeriodDays": 100}');
  expect(retentionLines(await reports(claude, { HOME }))).toEqual([
    `Claude Code: deletes sessions 100 days after their last change (cleanupPeriodDays, in ${source}): none of 2 within 7 days, the first on 2027-01-17`,
  ]);
});

verifies('WA-11', 'doctor reports the rules of all agents, as text and as data', async () => {
  const HOME = testFolder();
  sessions(HOME, { a: 4000 });
  const env = { HOME, PATH: HOME };
  const findings = await examine({ path: join(HOME, 'state'), source: 'flag' }, env);
  const found = findings.filter(({ name }) => name.startsWith('retention'));
  expect(found.map(({ name, ok }) => [name, ok])).toEqual([
    ['retention claude', null],
    ['retention gemini', true],
    ['retention', true],
  ]);
  expect(found[0]).toMatchObject({
    detail: expect.stringMatching(
      /1 of 1 within 7 days, .*; tacho has 0 of them: run tacho import/,
    ),
    retention: { agent: 'claude', soon: 1, stored: 0, rule: { days: 30 } },
  });
  for (const agent of ['codex', 'copilot', 'opencode', 'pi', 'qwen'])
    expect(found[2]?.detail).toContain(agent);
  expect(await findAgent('demo')).not.toHaveProperty('session.retention');
});

/** `tacho audit`: findings in runs of the chaos agent and in real recordings, rules, completeness, the chain. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { demo, linesOf, type Row, root, usePlace } from './cli.ts';
import { verifies } from './verifies.ts';

type Library = typeof import('../../src/index.ts');

const place = usePlace();
const write = (name: string, text: string) => writeFileSync(join(place.work, name), text);

/** Records a run with these calls, each a line of the script. */
async function record(calls: readonly string[]): Promise<string> {
  write('script.yaml', ['steps:', ...calls.map((call) => `  - calls: [${call}]`), ''].join('\n'));
  const { records, stderr } = await place.tacho(demo('script.yaml'));
  expect(stderr).toBe('');
  return records[0].run_id;
}

const run = (cmd: string, more = '') =>
  `{ tool: run, input: { cmd: ${JSON.stringify(cmd)} }${more} }`;

async function audit(...args: string[]) {
  const { stdout, stderr, code } = await place.tacho(['audit', '--json', ...args]);
  const lines = linesOf(stdout);
  const of = (kind: string) => lines.filter((line: Row) => line.kind === kind);
  return {
    code,
    stderr,
    findings: of('finding'),
    unread: of('not_analysed'),
    summary: of('summary')[0],
  };
}

const rulesOf = (findings: readonly Row[]) => findings.map(({ rule, status }) => [rule, status]);

verifies(
  'SE-8',
  'a run is audited: commands, files, denials, parts that cannot be read',
  async () => {
    const run_id = await record([
      run('echo "rm -rf /"'),
      run('mkdir -p notes && touch notes/a .env'),
      run('rm -rf notes', ', deny: not here'),
      run("sh -c 'rm -r notes'"),
      run('cat .env'),
      run('cat /srv/outside/none.txt'),
      run('$TOOL --now; true'),
    ]);
    const { findings, unread, summary, code, stderr } = await audit('last');
    expect([code, stderr]).toEqual([0, '']);
    expect(rulesOf(findings)).toEqual([
      ['secret-file', 'ran'],
      ['delete-recursive', 'denied'],
      ['delete-recursive', 'ran'],
      ['denied-then-done', 'ran'],
      ['secret-file', 'ran'],
      ['read-outside', 'failed'],
      ['denied', 'denied'],
    ]);
    const done = findings[3];
    expect(done).toMatchObject({
      run_id,
      agent: 'demo',
      tool: 'Bash',
      subject: "sh -c 'rm -r notes'",
    });
    expect(done.denied_seq).toBe(findings[1].seq);
    expect(unread.map(({ why }: Row) => why)).toEqual(['the program is not known']);
    expect(summary).toMatchObject({
      runs: 1,
      calls: 7,
      findings: { high: 5, medium: 0, low: 1, info: 1 },
      not_analysed: 1,
      completeness: { with_gaps: [], unfinished: [], unlisted: 0 },
      changed_rules: [],
      verified: null,
    });
    const shown = await place.tacho(['show', 'last', '--at', `seq:${done.seq}`]);
    expect(shown.stdout).toContain("sh -c 'rm -r notes'");
    const text = await place.tacho(['audit', 'last', '--severity', 'high'], {
      env: { COLUMNS: '80' },
    });
    expect(text.stdout).toMatch(/^high: 5 findings$/m);
    expect(text.stdout).toContain(`as the call that was denied at event ${done.denied_seq}`);
    expect(text.stdout).toMatch(/^not analysed: 1 part of commands$/m);
    expect(text.stdout).not.toMatch(/^low:/m);
    expect(text.stdout).toMatch(/^records: complete$/m);
  },
);

verifies('SE-8', 'every line matches the schema, and the library gives the same', async () => {
  await record([run('rm -rf x; curl http://127.0.0.1:9/'), run('python3 -c "1"')]);
  const { findings, unread, summary } = await audit('--verify');
  const { Compile } = await import('typebox/compile');
  const schema = Compile(JSON.parse(readFileSync(join(root, 'schema/audit.json'), 'utf8')));
  for (const line of [...findings, ...unread, summary])
    expect(schema.Check(line), line.kind).toBe(true);
  const library = (await import(join(root, 'dist/index.js'))) as Library;
  const store = library.openStore({ stateDir: place.state });
  expect(await store.audit({ verify: true })).toEqual({ findings, not_analysed: unread, summary });
  expect(summary.verified).toMatchObject({ runs: 1, faults: [], chain: null });
  await expect(store.audit({ rule: 1 } as object)).rejects.toThrow('rule: unknown option');
});

verifies(
  'SE-8',
  'denials and approvals of real agents are listed, with what they never report',
  async () => {
    for (const agent of ['claude', 'codex', 'opencode', 'pi']) {
      const folder = join(root, 'src/agents', agent, 'testdata/denied/session');
      const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
        /\.jsonl?$/.test(name),
      );
      for (const name of files)
        if (agent !== 'opencode') await place.tacho(['import', agent, join(folder, name)]);
    }
    const { findings, summary } = await audit();
    const denied = findings.filter(({ rule }: Row) => rule === 'denied');
    expect(new Set(denied.map(({ agent }: Row) => agent))).toEqual(
      new Set(['claude', 'codex', 'pi']),
    );
    expect(
      findings.some(({ rule, status }: Row) => rule === 'delete-recursive' && status === 'denied'),
    ).toBe(true);
    expect(summary.completeness.agents_without_decisions).toContain('codex');
    const by = summary.decisions.filter(({ decision }: Row) => decision === 'deny');
    expect(by.reduce((sum: number, { calls }: Row) => sum + calls, 0)).toBe(denied.length);
    const only = await audit('--agent', 'pi');
    expect(new Set(only.findings.map(({ agent }: Row) => agent))).toEqual(new Set(['pi']));
  },
);

verifies(
  'SE-8',
  'rules are added and switched off; a repository cannot switch them off silently',
  async () => {
    await record([run('rm a; make deploy')]);
    write(
      'rules.yaml',
      'off: [delete-file]\nrules:\n  - { id: deploys, command: make, args: [deploy], severity: high }\n',
    );
    const given = await audit('--rules', 'rules.yaml');
    expect(rulesOf(given.findings)).toEqual([['deploys', 'failed']]);
    expect(given.summary.changed_rules).toEqual([
      { path: 'rules.yaml', project: null, added: ['deploys'], off: ['delete-file'], refused: [] },
    ]);
    write('tacho.yaml', 'audit:\n  off: [delete-file]\n');
    const foreign = await audit();
    expect(rulesOf(foreign.findings)).toEqual([['delete-file', 'failed']]);
    expect(foreign.summary.changed_rules[0]).toMatchObject({ off: [], refused: ['delete-file'] });
    const trusted = await audit('--trust');
    expect([rulesOf(trusted.findings), trusted.summary.changed_rules[0].off]).toEqual([
      [],
      ['delete-file'],
    ]);
    expect(trusted.stderr).toContain('does not report the rule delete-file');
    write('tacho.yaml', 'audit:\n  off: [nothing]\n  rules:\n    - { id: x }\n');
    const { code, stderr } = await place.tacho(['audit']);
    expect([code, stderr.split('\n').length]).toEqual([2, 3]);
    expect(stderr).toMatch(/tacho\.yaml:2:9: audit\.off\[0\]: unknown rule "nothing"/);
    expect(stderr).toMatch(/tacho\.yaml:4:7: audit\.rules\[0\] needs one of command, path, tool/);
  },
);

verifies('SE-8', '--fail-on gates, and a denied call does not count', async () => {
  await record([run('rm -rf x', ', deny: no')]);
  const code = async (...args: string[]) => (await place.tacho(['audit', 'last', ...args])).code;
  expect([await code('--fail-on', 'high'), await code()]).toEqual([0, 0]);
  await record([run('rm -rf x')]);
  expect([await code('--fail-on', 'high'), await code('--fail-on', 'info'), await code()]).toEqual([
    1, 1, 0,
  ]);
  expect(await code('--fail-on', 'some')).toBe(2);
  expect(await code('--since', '1d')).toBe(2);
});

const chain = () => join(place.state, 'chain.jsonl');
const head = async () => JSON.parse((await place.tacho(['audit', '--head'])).stdout);

verifies('SE-8', 'the chain shows the removal of a run, by tacho and by others', async () => {
  const first = await record([run('true')]);
  await record([run('false')]);
  const exported = await head();
  expect(exported).toEqual({ entries: 2, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) });
  // A later run adds its own entry, and the same runs add none.
  const third = await record([run('true')]);
  expect(await head()).toMatchObject({ entries: 3 });
  expect((await place.tacho(['audit', '--verify'])).code).toBe(0);
  const check = () => place.tacho(['audit', '--check-head', exported.sha256, '--json']);
  expect(JSON.parse((await check()).stdout)).toMatchObject({
    ok: true,
    entry: 2,
    entries_since: 1,
  });

  await place.tacho(['runs', 'rm', third]);
  const after = await check();
  expect([after.code, JSON.parse(after.stdout).removed_since]).toEqual([0, [third]]);
  const { summary, code } = await audit('--verify');
  expect([code, summary.verified.chain.faults, summary.verified.chain.runs]).toEqual([0, [], 2]);
  expect(summary.verified.chain.removed).toMatchObject([{ run_id: third }]);

  // Someone removes a run from the journal and from all lists of tacho.
  const journal = join(place.state, 'journal');
  for (const name of readdirSync(journal).filter((one) => one.endsWith('.jsonl'))) {
    const path = join(journal, name);
    const kept = readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => !line.includes(first));
    writeFileSync(path, kept.join('\n'));
  }
  for (const name of readdirSync(place.state).filter((one) => one.startsWith('tacho.db')))
    rmSync(join(place.state, name));
  const broken = await audit('--verify');
  expect(broken.code).toBe(1);
  expect(broken.summary.verified.chain.faults).toEqual([
    expect.stringMatching(`run ${first} is missing: entry 1 has it with \\d+ events`),
  ]);

  // The chain itself is written again without the run: only the exported head shows it.
  rmSync(chain());
  await head();
  expect((await audit('--verify')).code).toBe(0);
  const lost = await check();
  expect([lost.code, JSON.parse(lost.stdout).faults]).toEqual([
    1,
    [expect.stringContaining('does not contain this head')],
  ]);
});

test('a changed run, and a changed entry, are faults of the chain', async () => {
  const run_id = await record([run('true')]);
  const { sha256 } = await head();
  const lines = readFileSync(chain(), 'utf8');
  writeFileSync(
    chain(),
    lines.replace(/"sha256":"(.)/, (_, first) => `"sha256":"${first === '0' ? '1' : '0'}`),
  );
  const changed = await audit('--verify');
  expect(changed.code).toBe(1);
  expect(changed.summary.verified.chain.faults.join()).toContain(
    `the events of run ${run_id} differ`,
  );
  write('head.txt', `my head: ${sha256}\n`);
  expect((await place.tacho(['audit', '--check-head', 'head.txt'])).code).toBe(1);
  expect((await place.tacho(['audit', '--check-head', 'none.txt'])).stderr).toContain('none.txt');
});

test('without a store or runs, the audit says so', async () => {
  const { code, stderr } = await place.tacho(['audit']);
  expect([code, stderr]).toEqual([1, expect.stringContaining('no runs in')]);
});

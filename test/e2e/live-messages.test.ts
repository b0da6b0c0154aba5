/** Messages for people when the live side fails: each names the place and says what to do. */
import { spawnSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { startServe } from '../serve-process.ts';
import { demo, usePlace } from './cli.ts';
import { can } from './needs.ts';
import { verifies } from './verifies.ts';

const place = usePlace();
const tail = (...args: string[]) => place.tacho(['tail', ...args]);

verifies(
  'LP-8',
  'a file of certificates that cannot be used stops a run before it starts',
  async () => {
    const missing = join(place.folder, 'missing.pem');
    const empty = join(place.folder, 'empty.pem');
    writeFileSync(empty, 'not a certificate\n');
    const live = (ca: string) => demo('fixed', '--live', 'tls://127.0.0.1:1', '--live-ca', ca);
    expect(await place.tacho(live(missing))).toMatchObject({
      code: 1,
      stderr: `error: ${missing}: no such file or folder\n`,
    });
    expect(await place.tacho(live(empty))).toMatchObject({
      code: 2,
      stderr: `error: ${empty}: this file contains no certificate (PEM)\n`,
    });
  },
);

verifies(
  'LP-10',
  'tail without a collector, and without stored messages, says what to do',
  async () => {
    const url = `unix:${join(place.folder, 'nobody.sock')}`;
    expect((await tail('--to', url)).stderr).toBe(
      `error: ${url}: no collector is listening there: start one with tacho serve, or check the address\n`,
    );
    const nothing = await tail('--no-follow');
    expect(nothing).toMatchObject({ code: 0, stdout: '' });
    expect(nothing.stderr).toMatch(
      /^tacho: no messages are stored in .*; tacho serve stores them\n$/,
    );
    expect((await tail('--no-follow', '--session', 'nope')).stderr).toMatch(
      /^tacho: no stored message matches; tacho tail --no-follow shows all messages in /,
    );
  },
);

verifies(
  'CF-4',
  'the counters of a collector that has stopped are shown as such, and fit 80 columns',
  async () => {
    const collector = await startServe(place.state);
    expect(await place.tacho(demo('fixed', '--live'))).toMatchObject({ code: 0 });
    const board = async () => (await place.tacho(['validate', '--board'])).stdout;
    expect(await board()).toMatch(/^Collector \(process \d+\), started 20\S+ \S+ \S+\n\nverdict /);
    await collector.end('SIGINT');
    const stopped = await board();
    expect(stopped).toMatch(
      /^The collector is not running\. Its last counters, from 20.* to 20.*:\n/,
    );
    const table = stopped.split('\n\n')[1]?.split('\n') ?? [];
    expect(table).toHaveLength(24);
    expect(table.filter((line) => line.length > 80)).toEqual([]);
  },
);

verifies(
  'CF-5',
  'a stored session is named as tail names it: by the beginning of its id',
  async () => {
    await startServe(place.state);
    const run = await place.tacho(demo('fixed', '--live'));
    const { run_id } = run.records[0] as { run_id: string };
    const session = run_id.slice(2, 12);
    expect((await tail('--no-follow', '--session', session)).stdout).toContain(` ${session} `);
    const responses = await tail('--no-follow', '--type', 'tool_call_response');
    expect(responses.stdout).toMatch(/ (ok|FAIL) +(Bash|Write|Read|Edit) /);
    expect(responses.stdout).not.toContain(' > ');
    const judged = await place.tacho(['validate', '--session', session]);
    expect(judged).toMatchObject({ code: 0, stderr: '' });
    expect(judged.stdout).toContain(', 1 session: passed');
  },
);

test('show explains that an emitted session is not a run, and how to read it', async () => {
  await startServe(place.state);
  const input = '{"type":"session_start","data":{"agent":"mine"}}\n';
  const sent = await place.tacho(['emit', '--session', 'build-7'], { input });
  expect(sent).toMatchObject({ code: 0 });
  expect(await place.tacho(['show', 'build-7'])).toMatchObject({
    code: 1,
    stderr:
      'error: "build-7" is not a run but a session that tacho serve collected: tacho tail --no-follow --session build-7 shows it\n',
  });
  expect((await tail('--no-follow', '--session', 'build-7')).stdout).toContain(
    ' build-7    mine\n',
  );
});

if (can('openssl', 'tests of TLS')) {
  const at = (name: string) => join(place.folder, name);

  beforeEach(() => {
    const make = `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout ${at('key.pem')} -out ${at('cert.pem')}`;
    expect(spawnSync('openssl', make.split(' ')).status).toBe(0);
    for (const name of ['token', 'wrong']) {
      writeFileSync(at(name), `${name}-of-the-collector\n`);
      chmodSync(at(name), 0o600);
    }
  });

  verifies(
    'LP-13',
    'a wrong certificate, token or scheme is reported with its remedy',
    async () => {
      const files = ['--tls-cert', at('cert.pem'), '--tls-key', at('key.pem')];
      const flags = ['--tcp', '127.0.0.1:0', '--token-file', at('token'), ...files];
      const { url: by_number } = await startServe(at('collector'), ...flags);
      const url = by_number.replace('127.0.0.1', 'localhost');
      const trusted = ['--ca', at('cert.pem')];
      const with_token = [...trusted, '--token-file', at('token')];
      const said = async (...args: string[]) => (await tail('--to', ...args)).stderr;

      expect(await said(url)).toBe(
        `error: ${url}: the certificate of the collector is not trusted: give it, or its CA, with --ca (tacho run: --live-ca)\n`,
      );
      expect(await said(by_number, ...with_token)).toBe(
        `error: ${by_number}: the certificate of the collector is for DNS:localhost, not for 127.0.0.1: use a name from it\n`,
      );
      for (const [args, why] of [
        [[], 'a token is required'],
        [['--token-file', at('wrong')], 'the token is unknown or has expired'],
      ] as const)
        expect(await said(url, ...trusted, ...args)).toBe(
          `error: ${url}: the collector refused the connection (AUTH_FAILED): ${why}: give a valid token with --token-file (tacho run: --live-token-file)\n`,
        );
      const clear = url.replace('tls:', 'tcp:');
      expect(await said(clear, '--token-file', at('token'))).toBe(
        `error: ${clear}: the collector closed the connection: if it uses TLS, use ${url}\n`,
      );
    },
  );
}

import { chmodSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { isShell } from './shells.ts';

const folder = mkdtempSync(join(tmpdir(), 'tacho-shells-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let count = 0;

function file(content: string | Buffer): string {
  count += 1;
  const path = join(folder, `program-${count}`);
  writeFileSync(path, content);
  chmodSync(path, 0o755);
  return path;
}

test('shells are recognised by name, through links, and as applets', () => {
  const link = join(folder, 'my-agent');
  symlinkSync('/bin/sh', link);
  const busybox = join(folder, 'busybox');
  writeFileSync(busybox, Buffer.from('\x7fELF\0'));
  const applet = join(folder, 'ash');
  symlinkSync(busybox, applet);
  expect([
    isShell('/bin/sh', []),
    isShell('/usr/local/bin/fish', []),
    isShell(link, []),
    isShell(busybox, ['sh', '-c', 'x']),
    isShell(busybox, ['cat']),
    isShell(applet, []),
    isShell(process.execPath, []),
    isShell(join(folder, 'missing'), []),
  ]).toEqual([true, true, true, true, false, true, false, false]);
});

for (const [text, shell] of [
  ['#!/bin/sh\necho a', true],
  ['#! /bin/bash -e\necho a', true],
  ['#!/usr/bin/env zsh\necho a', true],
  ['#!/usr/bin/env -S FOO=1 bash -e\necho a', true],
  ['#!/usr/bin/env -S -u BAR --chdir /w sh\necho a', true],
  ['#!/usr/bin/env -Sbash -e\necho a', true],
  ['#!/usr/bin/env -S -u bash node\nconsole.log(1)', false],
  ['#!/bin/busybox sh\necho a', true],
  ['echo a\n', true],
  ['#!/usr/bin/env node\nconsole.log(1)', false],
  ['#!/usr/bin/python3\nprint(1)', false],
  ['\x7fELF\0\0', false],
  ['', false],
] as const)
  test(`${JSON.stringify(text)} is ${shell ? '' : 'not '}run by a shell`, () => {
    expect(isShell(file(text), [])).toBe(shell);
  });

for (const [text, shell] of [
  ['exec node "$basedir/agent.js" "$@"', false],
  ['if [ -x "$basedir/node" ]; then\n  exec "$basedir/node" "$basedir/agent.js" "$@"\nfi', false],
  ['exec -a "$0" "/nix/store/agent-wrapped" "$@"', false],
  ['true && exec asdf exec claude "$@"', false],
  ['exec 2>&1\necho a', true],
  ['exec > /dev/stderr\necho a', true],
  ['exec {fd}> file\necho a', true],
  ['exec bash "$0.real" "$@"', true],
  ['exec node agent.js \\\n  --quiet \\\n  "$@"', false],
  ["sh -c 'echo a; exec sleep 300' &", true],
  ['echo "exec summary"', true],
  ['# exec node\necho a', true],
] as const)
  test(`a script with ${JSON.stringify(text)} ${shell ? 'writes itself' : 'hands over'}`, () => {
    expect(isShell(file(`#!/bin/sh\n${text}\n`), [])).toBe(shell);
  });

/** `tacho doctor`: checks the machine, and says what to do about problems. */
import type { Command } from 'commander';
import { type Done, type Io, printPretty } from '../command.ts';

const SIGNS = new Map([
  [true, ['green', 'ok  ']],
  [null, ['yellow', 'note']],
  [false, ['red', 'FAIL']],
] as const);

export function defineDoctor(program: Command, io: Io, done: Done): void {
  program
    .command('doctor')
    .description(
      'Check whether tacho can record runs here, and print how to fix problems. Exits with 1 if it cannot.',
    )
    .option('--json', 'print the findings as JSON')
    .addHelpText('after', '\nExample:\n  $ tacho doctor')
    .action(async (flags: { json?: true }) => {
      const { examine } = await import('../../app/runs/doctor.ts');
      const { findStateDir } = await import('../../store/state-dir.ts');
      const { forTerminal } = await import('../../lib/terminal-text.ts');
      const { createColours } = await import('../../lib/colours.ts');
      const colours = createColours(io.colour);
      const { state_flag: flag, env } = io;
      const findings = await examine(findStateDir({ flag, env }), env);
      const width = Math.max(...findings.map(({ name }) => name.length));
      const lines = findings.map(({ name, ok, detail }) => {
        const [colour, sign] = SIGNS.get(ok) ?? (['dim', '?   '] as const);
        return `${colours[colour](sign)} ${name.padEnd(width)}  ${forTerminal(detail)}\n`;
      });
      await printPretty(io, flags, findings, () => lines.join(''));
      done(findings.some(({ ok }) => ok === false) ? 1 : 0);
    });
}

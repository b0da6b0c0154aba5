/** Programs that a test needs and a machine may lack: such tests are skipped and named in the summary of `npm test`. */
import { spawnSync } from 'node:child_process';
import { appendFileSync } from 'node:fs';

export const isThere = (program: string) =>
  spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;

export function note(text: string): void {
  const { TACHO_TEST_NOTES } = process.env;
  if (TACHO_TEST_NOTES) appendFileSync(TACHO_TEST_NOTES, `${text}\n`);
}

/** Whether a test that needs the program can run; prints a note when it cannot. */
export function can(program: string, what: string): boolean {
  if (isThere(program)) return true;
  note(`${what}: needs ${program}`);
  return false;
}

/** Whether a command succeeds here, for programs that need special permissions. */
export function succeeds(command: readonly [string, ...string[]], what: string): boolean {
  const [program, ...args] = command;
  if (spawnSync(program, args).status === 0) return true;
  note(`${what}: ${command.join(' ')} fails`);
  return false;
}

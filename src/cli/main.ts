/** The command line: reads the arguments, runs one command, sets the exit code. The only place that does. */
import { type Command, CommanderError } from 'commander';
import { EXIT_SOFTWARE, EXIT_USAGE, exitCodeOfError } from '../app/run/exit-codes.ts';
import { fileError, TachoError } from '../lib/errors.ts';
import type { Io } from './command.ts';
import { createIo } from './io.ts';
import { createProgram } from './program.ts';

async function main(): Promise<void> {
  const io = createIo();
  await followLauncher(io.env);
  const program = createProgram(process.argv.slice(2), io, (code) => {
    process.exitCode = code;
  });
  try {
    if (process.argv.length <= 2) {
      await withoutCommand(program, io);
    } else {
      await program.parseAsync(process.argv);
    }
  } catch (error) {
    if (error instanceof CommanderError) {
      process.exitCode = error.exitCode === 0 ? 0 : EXIT_USAGE;
    } else {
      const known = knownError(error);
      process.exitCode = known === null ? EXIT_SOFTWARE : exitCodeOfError(known);
      const { redactedMessage } = await import('../app/config/redaction.ts');
      const shown = known ?? { message: String((error as Error).stack) };
      const message = await redactedMessage(shown, io.env);
      // A message about a file has one line per mistake.
      const lines = known?.code === 'config_invalid' ? message.split('\n') : [message];
      for (const line of lines) await io.err.write(`error: ${line}\n`);
    }
  }
  await io.out.write('');
  if (io.out.failure !== null) {
    const { message } = fileError(io.out.failure, 'standard output', 'output');
    await io.err.write(`error: ${message}\n`);
    process.exitCode = EXIT_SOFTWARE;
  }
  await io.err.write('');
}

/** A person at a terminal gets an overview. For a script, a missing command is a mistake, and it gets the help. */
async function withoutCommand(program: Command, io: Io): Promise<void> {
  if (io.out_is_terminal) {
    const { overview } = await import('./overview.ts');
    await io.out.write(overview(io));
    return;
  }
  program.outputHelp();
  process.exitCode = EXIT_USAGE;
}

/** Null for a fault of tacho itself, which is shown with its stack. */
function knownError(error: unknown): TachoError | null {
  if (error instanceof TachoError) return error;
  const { syscall, path } = error as NodeJS.ErrnoException;
  return syscall === undefined ? null : fileError(error, path ?? syscall, 'system');
}

/** An older Node started this process through the launcher: when the launcher is killed, this process must end too. */
async function followLauncher(env: NodeJS.ProcessEnv): Promise<void> {
  const fd = Number(env.TACHO_LAUNCHER_FD);
  delete env.TACHO_LAUNCHER_FD;
  if (!Number.isInteger(fd) || fd < 3) return;
  const { Socket } = await import('node:net');
  const launcher = new Socket({ fd, readable: true, writable: false });
  const die = () => process.kill(process.pid, 'SIGKILL');
  launcher.on('error', die).on('end', die).resume();
  launcher.unref();
}

main();

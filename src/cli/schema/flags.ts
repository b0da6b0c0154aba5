/** `tacho schema [NAME]`: the JSON Schemas, as they are committed. */
import { Argument, type Command } from 'commander';
import type { Io } from '../command.ts';

const SCHEMA_NAMES = [
  'run-event',
  'event',
  'outcome',
  'transcript',
  'comparison',
  'audit',
  'live',
] as const;

export function defineSchema(program: Command, io: Io): void {
  program
    .command('schema')
    .description('Print the JSON Schema of a record. Without a name, list the names.')
    .addArgument(new Argument('[name]', 'the record').choices(SCHEMA_NAMES))
    .addHelpText('after', '\nExample:\n  $ tacho schema run-event > run-event.schema.json')
    .action(async (name: string | undefined) => {
      if (name === undefined) {
        await io.out.write(`${SCHEMA_NAMES.join('\n')}\n`);
        return;
      }
      const { readFileSync } = await import('node:fs');
      const { join } = await import('node:path');
      const { packageRoot } = await import('../../app/config/paths.ts');
      await io.out.own(readFileSync(join(packageRoot(), 'schema', `${name}.json`)));
    });
}

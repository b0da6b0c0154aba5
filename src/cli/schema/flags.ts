/** `tacho schema [NAME]`: the JSON Schemas, as they are committed. */
import type { Command } from 'commander';
import { TachoError } from '../../lib/errors.ts';
import type { Io } from '../command.ts';

const SCHEMA_NAMES = ['run-event', 'event', 'outcome', 'transcript', 'live'] as const;

export function defineSchema(program: Command, io: Io): void {
  program
    .command('schema')
    .description('print the JSON Schema of a record; without a name, list the names')
    .argument('[name]', `one of ${SCHEMA_NAMES.join(', ')}`)
    .addHelpText('after', '\nExample:\n  $ tacho schema run-event > run-event.schema.json')
    .action(async (name: string | undefined) => {
      if (name === undefined) {
        await io.out.write(`${SCHEMA_NAMES.join('\n')}\n`);
        return;
      }
      if (!(SCHEMA_NAMES as readonly string[]).includes(name)) {
        throw new TachoError(
          'usage',
          `unknown schema "${name}": there are ${SCHEMA_NAMES.join(', ')}`,
          { stage: 'schema' },
        );
      }
      const { readFileSync } = await import('node:fs');
      const { join } = await import('node:path');
      const { packageRoot } = await import('../../app/config/paths.ts');
      await io.out.own(readFileSync(join(packageRoot(), 'schema', `${name}.json`)));
    });
}

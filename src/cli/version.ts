/** The version of the package, read when it is asked for. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../app/config/paths.ts';

export const VERSION = (
  JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8')) as { version: string }
).version;

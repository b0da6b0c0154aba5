/**
 * `tacho watch --install` and `--uninstall` (WA-13). Contract: the text of the service is shown before it is written,
 * and nothing is written or run without consent. Installing twice has the effect of installing once. A file that tacho did
 * not write, or that was changed since, is neither replaced nor removed.
 */
import { existsSync, lstatSync, mkdirSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findProgram } from '../../capture/source/find-program.ts';
import { TachoError } from '../../lib/errors.ts';
import { homeFolder } from '../../lib/home.ts';
import { readTextFile } from '../../lib/text-file.ts';
import { removeFile, writeAtomic } from '../../store/files.ts';
import { needPackageFile, packageRoot } from '../config/paths.ts';
import { APP_LIMITS } from '../limits.ts';
import { isOurs, programsInService } from './service-files.ts';
import {
  type Command,
  execWith,
  refused,
  type ServiceContext,
  STAGE,
  serviceOf,
  usualServicePath,
} from './service-manager.ts';

/** The result of installing or removing the service. */
export interface ServiceResult {
  path: string;
  /** `unchanged`: it was installed like this already, or there was nothing to remove. */
  state: 'installed' | 'removed' | 'unchanged';
}

/** The file's text; null if there is none. Throws if it is not ours. */
function ownText(path: string): string | null {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return null;
  const limits = { bytes_max: APP_LIMITS.service_file_bytes_max, stage: STAGE };
  const text = found.isFile() ? readTextFile(path, limits).text : '';
  if (isOurs(text)) return text;
  throw refused(
    `${path} was not written by tacho, or was changed since: tacho leaves it as it is; remove it yourself if you do not need it`,
  );
}

async function runAll(context: ServiceContext, commands: readonly Command[]): Promise<void> {
  for (const { words, optional = false, tries = 1 } of commands) {
    const [program, ...args] = words;
    let ran = await context.exec(program, args);
    for (let tried = 1; ran.code !== 0 && tried < tries; tried++) {
      await sleep(1_000);
      ran = await context.exec(program, args);
    }
    if (ran.code !== 0 && !optional)
      throw refused(`${words.join(' ')} failed: ${ran.output || `exit code ${ran.code}`}`);
  }
}

/** This machine, this Node and this installation of tacho. */
export function serviceHere(
  given: Pick<ServiceContext, 'args' | 'env' | 'say' | 'confirm'>,
): ServiceContext {
  return {
    ...given,
    platform: process.platform,
    home: homeFolder(),
    exec: execWith(given.env),
    node: lastingNode(given.env.PATH),
    launcher: needPackageFile(join(packageRoot(), 'bin', 'tacho.cjs')),
  };
}

/** The link of a package manager, which an upgrade of Node changes, rather than the folder of one version. */
function lastingNode(path: string | undefined): string {
  const found = findProgram('node', path, '/');
  try {
    if (found !== null && realpathSync(found) === realpathSync(process.execPath)) return found;
  } catch {
    // It was removed just now.
  }
  return process.execPath;
}

/** The installed service. Null if there is none. `missing`: programs in its file that no longer exist. */
export function installedService(
  platform: NodeJS.Platform = process.platform,
  home = homeFolder(),
): { path: string; missing: string[] } | null {
  const path = usualServicePath(platform, home);
  if (path === null || !existsSync(path)) return null;
  const limits = { bytes_max: APP_LIMITS.service_file_bytes_max, stage: STAGE };
  const programs = programsInService(readTextFile(path, limits).text);
  return { path, missing: programs.filter((program) => !existsSync(program)) };
}

/** `yes`: the user agreed in advance. */
export async function installService(
  context: ServiceContext,
  { yes = false } = {},
): Promise<ServiceResult> {
  const { path, text, start, note } = await serviceOf(context, true);
  const before = ownText(path);
  const changed = before !== text;
  context.say(`${path}:\n\n${text}\n`);
  if (changed) {
    needYes(context, yes, 'Write this file and start the service?');
    mkdirSync(dirname(path), { recursive: true });
    writeAtomic(path, text, STAGE);
  }
  await runAll(context, start(changed));
  context.say(`${changed ? '' : 'The file was installed already. '}${note}\n`);
  return { path, state: changed ? 'installed' : 'unchanged' };
}

/** Works without a service manager as well: the file is removed. */
export async function uninstallService(
  context: ServiceContext,
  { yes = false } = {},
): Promise<ServiceResult> {
  const { path, stop, links, finish } = await serviceOf(context, false);
  if (ownText(path) === null) {
    context.say(`There is no ${path}: nothing to remove.\n`);
    return { path, state: 'unchanged' };
  }
  needYes(context, yes, `Stop the service and remove ${path}?`);
  await runAll(context, stop);
  for (const link of links)
    if (lstatSync(link, { throwIfNoEntry: false })?.isSymbolicLink()) removeFile(link, STAGE);
  removeFile(path, STAGE);
  await runAll(context, finish);
  context.say(`Removed ${path}. The store and its runs are unchanged.\n`);
  return { path, state: 'removed' };
}

function needYes({ confirm }: ServiceContext, yes: boolean, question: string): void {
  const answer = yes || confirm(question);
  if (answer === true) return;
  if (answer === false) throw refused('nothing was changed');
  throw new TachoError('usage', 'nobody can be asked here: add --yes to agree', { stage: STAGE });
}

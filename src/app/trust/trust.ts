/** Finds what `tacho trust` can agree to in a folder: configuration, eval files, state folders. */
import { existsSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { AGENT_IDS } from '../../agents/registry.ts';
import { fileError, TachoError } from '../../lib/errors.ts';
import { PROJECT_STATE } from '../../store/state-dir.ts';
import { adoptState, leftIn } from '../../store/state-mark.ts';
import { type Fact, forget, listFacts, userStatePath } from '../../store/user-state.ts';
import { findConfig, loadConfig } from '../config/config.ts';
import { type Asking, configAsking, rememberConsent } from '../config/consent.ts';
import { loadEvalFile } from '../evals/files.ts';

export interface Found {
  kind: Fact['kind'];
  path: string;
  /** For people. */
  effects: string[];
  asking?: Asking;
}

/** Everything that can be agreed to. `state_dir`: an additional place where a state folder may be. */
export async function trustable(
  path: string,
  state_dir: string | null,
  env: NodeJS.ProcessEnv,
): Promise<Found[]> {
  const real = realPath(path);
  if (!statSync(real).isDirectory()) return [await fileFound(real, env)].filter(asksSomething);
  const found: Found[] = [];
  const config = findConfig(real);
  if (config !== null) found.push(await fileFound(config, env));
  // Most YAML files are not eval files.
  for (const file of [...yamlIn(real), ...yamlIn(join(real, 'evals'))])
    found.push(
      ...(await fileFound(file, env).then(
        (one) => [one],
        () => [],
      )),
    );
  const places = [real, join(real, PROJECT_STATE), ...(state_dir === null ? [] : [state_dir])];
  const states = places.filter(isState).map((place) => realpathSync(place));
  found.push(...[...new Set(states)].map(stateFound));
  return found.filter(asksSomething);
}

function yamlIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.ya?ml$/.test(entry.name) && entry.name !== 'tacho.yaml')
    .map((entry) => join(folder, entry.name))
    .sort();
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch (cause) {
    throw fileError(cause, path, 'trust');
  }
}

const asksSomething = ({ effects }: Found) => effects.length > 0;
const isState = (path: string) => existsSync(join(path, 'journal'));

async function fileFound(path: string, env: NodeJS.ProcessEnv): Promise<Found> {
  const asking =
    basename(path) === 'tacho.yaml'
      ? configAsking(await loadConfig(path, AGENT_IDS))
      : (await loadEvalFile(path, env, () => {})).asking;
  return { kind: 'config', path, effects: asking.effects, asking };
}

/** A state folder that may be acted on. Its addresses and token files are not agreed to: only flags give those. */
function stateFound(path: string): Found {
  const { spools, outboxes } = leftIn(path);
  const effects = [
    'state folder: its unfinished runs are recovered',
    ...(spools.length === 0 ? [] : [`recovers ${spools.join(', ')}`]),
    ...(outboxes.length === 0 ? [] : [OUTBOX_EFFECT]),
  ];
  return { kind: 'state', path, effects };
}

const OUTBOX_EFFECT = 'its outbox is sent only by a command with the same --live or --to flags';

/** Throws if it cannot be remembered. */
export function agreeTo({ kind, path, asking }: Found): void {
  const done = asking === undefined ? adoptState(path) : rememberConsent(asking);
  if (done) return;
  const text = `${userStatePath()} cannot be written, so consent cannot be stored: use --trust or TACHO_TRUST=1`;
  throw new TachoError('state_unusable', text, { stage: kind });
}

/** Existing consents in a folder, or for one file. */
export function agreedIn(folder: string): Found[] {
  const real = realPath(folder);
  const within = (path: string) => path === real || !relative(real, path).startsWith('..');
  return listFacts()
    .filter(({ path }) => within(path))
    .map((fact) => ({ kind: fact.kind, path: fact.path, effects: fact.notes ?? [] }));
}

/** Returns the revoked consents. */
export function takeBack(folder: string): Found[] {
  const gone = agreedIn(folder);
  const paths = new Set(gone.map(({ path }) => path));
  for (const fact of listFacts()) if (paths.has(fact.path)) forget(fact);
  return gone;
}

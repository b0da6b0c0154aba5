/** Calls that were denied, and later calls of the run that do the same in the same or another way. Pure. */
import { own } from '../../lib/own.ts';
import type { ShellCommand } from '../../lib/shell-inner.ts';
import { inputFacts, likeness } from '../compare/call-facts.ts';
import { createVolatile } from '../compare/volatile.ts';
import { PROJECTION_LIMITS } from '../limits.ts';
import { operandsOf } from './commands.ts';
import type { Access } from './paths.ts';

/** A call, as far as it can be compared with a denied one. */
export interface DeniedCall {
  seq: number;
  tool: string;
  input: unknown;
  about: string;
  commands: readonly ShellCommand[];
  accesses: readonly Access[];
}

interface Known extends ReturnType<typeof inputFacts> {
  seq: number;
  tool: string;
  /** The effects of the call if it ran: commands with their operands, files to write, addresses. */
  effects: ReadonlySet<string>;
}

/** Commands that change nothing by themselves. */
const HARMLESS = new Set(
  'cd pushd popd ls pwd echo printf cat true false test [ [[ : sh bash zsh'.split(' '),
);
const URL = /\bhttps?:\/\/[^\s"'<>)]+/g;
const NO_FOLDERS = createVolatile([]);

function effectsOf({ commands, accesses, input }: DeniedCall): Set<string> {
  const ran = commands
    .filter((command) => !HARMLESS.has(command.program))
    .map((command) => ({ command, operands: operandsOf(command) }))
    .filter(({ operands }) => operands.length > 0)
    .map(({ command, operands }) => `command ${command.program} ${operands.join(' ')}`);
  const written = accesses.filter(({ how }) => how !== 'read').map(({ path }) => `write ${path}`);
  const text = JSON.stringify(input) ?? '';
  const addresses = (text.slice(0, 100_000).match(URL) ?? []).map((url) => `address ${url}`);
  return new Set([...ran, ...written, ...addresses]);
}

/** The kinds of shared effects, for people. */
const WORDS: Readonly<Record<string, string>> = {
  command: 'runs the same command',
  write: 'writes the same file',
  address: 'uses the same address',
};

export class Denials {
  readonly #known: Known[] = [];

  add(call: DeniedCall): void {
    // Far more than anyone denies in one run; the oldest are forgotten.
    if (this.#known.length >= PROJECTION_LIMITS.audit_denials_max) this.#known.shift();
    const { seq, tool, input } = call;
    const effects = effectsOf(call);
    this.#known.push({ seq, tool, effects, ...inputFacts(input, tool, NO_FOLDERS) });
  }

  /** The last denied call that this one repeats; null if there is none. */
  match(call: DeniedCall): { seq: number; why: string } | null {
    if (this.#known.length === 0) return null;
    const facts = inputFacts(call.input, call.tool, NO_FOLDERS);
    const effects = effectsOf(call);
    for (const denied of this.#known.toReversed()) {
      const { seq } = denied;
      if (denied.key === facts.key) return { seq, why: 'makes the same call' };
      const [effect] = effects.intersection(denied.effects);
      const kind = effect?.split(' ', 1)[0];
      if (kind !== undefined) return { seq, why: own(WORDS, kind) ?? '' };
      if (denied.tool === call.tool && likeness(denied, facts) > 0 && effects.size > 0)
        return { seq, why: 'makes a similar call' };
    }
    return null;
  }
}

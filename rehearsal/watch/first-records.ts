/**
 * When the first record of each session was written: the session files are looked at many times a second, and their
 * states are kept until the watcher has reported them. Afterwards the earliest state with a message or call is found.
 */
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { allAgents } from '../../src/agents/registry.ts';
import { headOf } from '../../src/app/sessions/import-source.ts';
import type { Agent, SessionPlace } from '../../src/model/agent.ts';

const LOOK_MS = 20;

interface Snapshot {
  at_ms: number;
  bytes: Buffer;
}
type Place = Extract<SessionPlace, { root: string }>;

export class FirstRecords {
  readonly #env: NodeJS.ProcessEnv;
  readonly #snapshots = new Map<string, { agent: Agent; stamp: string; taken: Snapshot[] }>();
  readonly #isReported: (path: string) => boolean;
  #timer: NodeJS.Timeout | null = null;

  constructor(env: NodeJS.ProcessEnv, isReported: (path: string) => boolean) {
    this.#env = env;
    this.#isReported = isReported;
  }

  async start(): Promise<void> {
    const places = (await allAgents()).flatMap((agent) =>
      (agent.session?.places?.(this.#env) ?? []).flatMap((place) =>
        'root' in place ? [{ agent, place }] : [],
      ),
    );
    this.#timer = setInterval(() => {
      for (const { agent, place } of places) this.#look(agent, place);
    }, LOOK_MS);
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
  }

  #look(agent: Agent, { root, names }: Place): void {
    const [name, ...below] = names;
    if (name === undefined) return;
    for (const entry of namesIn(root)) {
      if (!name.test(entry)) continue;
      const path = join(root, entry);
      if (below.length > 0) this.#look(agent, { root: path, names: below });
      else if (!this.#isReported(path)) this.#take(agent, path);
    }
  }

  #take(agent: Agent, path: string): void {
    try {
      const { size, mtimeMs } = statSync(path);
      const known = this.#snapshots.get(path) ?? { agent, stamp: '', taken: [] };
      const stamp = `${size} ${mtimeMs}`;
      if (known.stamp === stamp) return;
      known.taken.push({ at_ms: Date.now(), bytes: readFileSync(path) });
      this.#snapshots.set(path, { ...known, stamp });
    } catch {
      // It was removed or renamed meanwhile.
    }
  }

  /** Null: the session is not in a file. `scratch`: a folder for copies. */
  async of(path: string, scratch: string): Promise<number | null> {
    const { agent, taken = [] } = this.#snapshots.get(path) ?? {};
    if (agent === undefined) return null;
    const copy = join(scratch, path);
    mkdirSync(dirname(copy), { recursive: true });
    for (const { at_ms, bytes } of taken) {
      writeFileSync(copy, bytes);
      const parts = [{ path: copy, parent_call_id: null }];
      const head = await headOf({ agent, path: copy, parts, left_out: [] }, null);
      if (head.speaks) return at_ms;
    }
    return null;
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

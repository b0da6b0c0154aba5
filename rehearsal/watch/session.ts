/** One session, started by hand: an agent's CLI with a prompt in its command line, or on a terminal. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findAgent } from '../../src/agents/registry.ts';
import { endTree } from '../../src/capture/source/process-tree.ts';
import { INSIDE, type OnTerminal, type Rehearsed } from '../agents/agent.ts';
import type { Logged } from '../server/main.ts';
import { amongOthers, type Play, playOf } from './plays.ts';
import { openTerminal, type Terminal } from './terminal.ts';

export interface Staged {
  agent: Rehearsed;
  port: number;
  /** The scenario's name, and the folder's. */
  name: string;
  terminal: OnTerminal | null;
  /** The session id that the watcher shows for this folder; null: none yet. */
  sessionIn(work: string): string | null;
  /** Called at the moments when the state of the session is known. */
  moment(name: Moment, work: string): Promise<void>;
}

/** A call runs; the turn ended and the process lives; the process has ended. */
export type Moment = 'working' | 'waiting' | 'ended';

export interface Played {
  work: string;
  play: Play;
  /** Failures of the CLI and of the rehearsal. */
  bad: string[];
  requests: Logged[];
  /** The prompts that reached the CLI. */
  prompts: number;
}

const POLL_MS = 50;
const LIMIT_MS = 60_000;
/** A turn has ended when the CLI shows nothing new for this time. */
const SETTLED_MS = 1_500;
const READY_LIMIT_MS = 8_000;
const TYPING_TRIES = 5;
/** After Enter. */
const ASKED_WITHIN_MS = 8_000;
const QUIT_LIMIT_MS = 10_000;

async function until(test: () => boolean, limit_ms = LIMIT_MS): Promise<boolean> {
  const end_ms = Date.now() + limit_ms;
  while (!test()) {
    if (Date.now() > end_ms) return false;
    await sleep(POLL_MS);
  }
  return true;
}

function write(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(`${folder}/${path}`), { recursive: true });
    writeFileSync(`${folder}/${path}`, text);
  }
}

const exitOf = (child: ChildProcess) =>
  new Promise<number | null>((resolve) => {
    child.on('error', () => resolve(null));
    child.on('exit', (code) => resolve(code));
  });

/** Ends a program that did not end by itself, with everything that it started, by their ids. */
async function endAll({ pid, exitCode, signalCode }: ChildProcess): Promise<void> {
  if (pid === undefined || exitCode !== null || signalCode !== null) return;
  await endTree({ pid, run_id: `none ${pid}` }, { grace_ms: POLL_MS, signal: 'SIGTERM' });
}

class Session {
  readonly #staged: Staged;
  readonly #title: string;
  readonly work: string;
  readonly played: Played;
  readonly #env: NodeJS.ProcessEnv;
  #model: ChildProcess | null = null;

  constructor(staged: Staged) {
    const { agent, port, name } = staged;
    this.#staged = staged;
    this.#title = `${agent.id}-${name}`;
    this.work = `${INSIDE.work}/${this.#title}`;
    const play = playOf(agent, this.work, staged.terminal === null && agent.one_prompt === true);
    this.played = { work: this.work, play, bad: [], requests: [], prompts: 0 };
    this.#env = {
      HOME: INSIDE.home,
      LANG: 'C.UTF-8',
      PATH: `${INSIDE.bin}:/usr/local/bin:/usr/bin:/bin`,
      SHELL: '/bin/bash',
      TERM: staged.terminal === null ? 'dumb' : 'xterm-256color',
      TZ: 'UTC',
      ...amongOthers(agent, port, agent.env),
    };
  }

  async run(): Promise<Played> {
    const { agent, port, terminal } = this.#staged;
    write(this.work, { 'README.md': 'A toy project.\n' });
    const home = { ...agent.home, ...terminal?.home?.(this.work) };
    write(INSIDE.home, amongOthers(agent, port, home));
    try {
      await this.#startModel();
      if (terminal === null) await this.#byCommand();
      else await this.#onTerminal(terminal);
    } catch (error) {
      // A failure of this agent only.
      this.played.bad.push(String(error));
    } finally {
      this.#model?.kill('SIGKILL');
    }
    this.played.requests = this.#requests();
    return this.played;
  }

  async #startModel(): Promise<void> {
    const { agent, port } = this.#staged;
    const base = `${INSIDE.out}/${this.#title}`;
    const [script, log, ready] = [`${base}.script.json`, `${base}.requests`, `${base}.ready`];
    writeFileSync(script, JSON.stringify(this.played.play.script));
    const server = `${INSIDE.project}/rehearsal/server/main.ts`;
    const args = [server, agent.dialect, String(port), script, log, ready];
    this.#model = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
    if (!(await until(() => existsSync(ready)))) throw new Error('the model did not start');
  }

  #requests(): Logged[] {
    const log = `${INSIDE.out}/${this.#title}.requests`;
    if (!existsSync(log)) return [];
    const lines = readFileSync(log, 'utf8').split('\n');
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Logged);
  }

  /** The number of answers that the model gave to the agent, except to its sub-agents. */
  readonly #answers = () => this.#requests().filter(({ note }) => note.startsWith('main ')).length;

  async #whenCalled(): Promise<void> {
    if (!(await until(() => existsSync(`${this.work}/started`)))) return;
    await sleep(SETTLED_MS);
    await this.#staged.moment('working', this.work);
  }

  /** A file: one CLI opens it by its name. */
  #stdin(text: string | null): 'ignore' | number {
    if (text === null) return 'ignore';
    const path = `${INSIDE.out}/${this.#title}.prompt`;
    writeFileSync(path, text);
    return openSync(path, 'r');
  }

  async #byCommand(): Promise<void> {
    const { agent } = this.#staged;
    const launch = (await findAgent(agent.id))?.launch;
    if (!launch) throw new Error(`${agent.id} cannot be started`);
    const called = this.#whenCalled();
    const out = openSync(`${INSIDE.out}/${this.#title}.out`, 'a');
    for (const prompt of this.played.play.prompts) {
      const resume = this.played.prompts === 0 ? null : this.#staged.sessionIn(this.work);
      if (this.played.prompts > 0 && resume === null) break;
      const plan = launch({
        prompt,
        approve: 'all',
        resume,
        model: null,
        stream: false,
        args: amongOthers(agent, this.#staged.port, agent.args ?? []),
        command: null,
        self: { node: process.execPath, entry: '' },
      });
      const child = spawn(plan.command, [...plan.args], {
        cwd: this.work,
        env: { ...this.#env, ...plan.env },
        stdio: [this.#stdin(plan.stdin), out, out],
      });
      const code = await Promise.race([exitOf(child), sleep(LIMIT_MS, -1, { ref: false })]);
      if (code !== 0) {
        await endAll(child);
        this.played.bad.push(`prompt ${this.played.prompts + 1}: exit code ${code}`);
      }
      this.played.prompts += 1;
      await called;
      await sleep(SETTLED_MS);
      await this.#staged.moment('ended', this.work);
    }
  }

  /** Types a prompt. A CLI that starts may show a moving picture first, ask questions, and lose the prompt. */
  async #type(terminal: Terminal, prompt: string, { answers = [] }: OnTerminal): Promise<void> {
    for (let tries = 0; tries < TYPING_TRIES; tries++) {
      await terminal.quiet(SETTLED_MS, READY_LIMIT_MS);
      for (const [text, keys] of tries === 0 && this.played.prompts > 0 ? [] : answers) {
        if (!terminal.shown().includes(text)) continue;
        terminal.send(keys);
        await terminal.quiet(SETTLED_MS, READY_LIMIT_MS);
      }
      const before = this.#answers();
      if (!(await terminal.type(prompt))) continue;
      if (await until(() => this.#answers() > before, ASKED_WITHIN_MS)) return;
    }
    this.played.bad.push(`${JSON.stringify(prompt)} did not reach the model`);
  }

  async #onTerminal(used: OnTerminal): Promise<void> {
    const { args, quit } = used;
    const { agent } = this.#staged;
    const program = agent.package.program?.split('/').at(-1) ?? agent.id;
    const terminal = openTerminal([program, ...args], { cwd: this.work, env: this.#env });
    const called = this.#whenCalled();
    let wanted = 0;
    try {
      for (const [place, prompt] of this.played.play.prompts.entries()) {
        await this.#type(terminal, prompt, used);
        wanted += this.played.play.turns[place] ?? 0;
        if (!(await until(() => this.#answers() >= wanted))) {
          this.played.bad.push(`prompt ${place + 1}: the turn did not end`);
          writeFileSync(`${INSIDE.out}/${this.#title}.stuck`, terminal.shown());
          break;
        }
        this.played.prompts += 1;
        await terminal.quiet(SETTLED_MS, 2 * SETTLED_MS);
        await called;
        await this.#staged.moment('waiting', this.work);
      }
      for (const keys of quit) {
        terminal.send(keys);
        await sleep(2 * POLL_MS + 300);
      }
      const gone = await Promise.race([
        terminal.ended.then(() => true),
        sleep(QUIT_LIMIT_MS, false, { ref: false }),
      ]);
      if (!gone) this.played.bad.push('it did not quit');
    } finally {
      writeFileSync(`${INSIDE.out}/${this.#title}.screen`, terminal.shown());
      await endAll(terminal.child);
    }
    await sleep(SETTLED_MS);
    await this.#staged.moment('ended', this.work);
  }
}

export const playSession = (staged: Staged): Promise<Played> => new Session(staged).run();

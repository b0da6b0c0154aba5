/** Which attempts of `tacho run` are shown: all to people on the terminal, the last one to programs and in files. */
import type { RunResult } from '../../app/run/close-run.ts';
import { type View, whyOf } from '../../app/run/recorder.ts';
import type { RunWatcher } from '../../app/run/run-agent.ts';
import { journalledEvents } from '../../app/runs/replay.ts';
import { oneLine } from '../../lib/terminal-text.ts';
import type { Event } from '../../model/event.ts';
import { openStateDir } from '../../store/state-dir.ts';
import type { Io } from '../command.ts';
import { createPresenter, type PresentOptions } from '../present.ts';
import { sayOfLive } from '../run-options.ts';
import type { TuiView } from './tui-view.ts';

const WARNING_CHARS_MAX = 300;

export interface ShowOptions extends PresentOptions {
  /** A full-screen view of the agent with this name; null: text or records. */
  tui: string | null;
  /** Files that are written beside the output. */
  files: readonly View[];
  onInterrupt(): void;
}

/**
 * Records on stdout, and the files beside it, are of one run with one end (RE-6, RE-12). Those of an attempt that may not
 * be the last are held back; when it turns out to be the last, they are made from the journal.
 */
export class Show implements RunWatcher {
  /** Whether anything was printed. */
  begun = false;
  readonly live: (text: string) => void;
  readonly #io: Io;
  readonly #options: ShowOptions;
  #shown: View | null = null;
  /** One for all attempts. */
  #tui: TuiView | null = null;
  #last = true;
  /** The last events of an attempt; where the journal failed, they are only here. */
  #end: readonly Event[] = [];

  constructor(io: Io, options: ShowOptions) {
    this.#io = io;
    this.#options = options;
    this.live = sayOfLive({ err: { write: (text) => this.#say(text) } });
  }

  async views(last: boolean): Promise<View[]> {
    this.#last = last;
    const held = !last && this.#options.output === 'json';
    this.#shown = held ? null : await this.#view();
    const keepEnd = (events: readonly Event[]) => {
      this.#end = events;
      this.begun ||= this.#shown !== null;
    };
    return [
      { name: 'the end of the attempt', take: keepEnd },
      ...(this.#shown === null ? [] : [this.#shown]),
      ...(last ? this.#options.files : []),
    ];
  }

  async ended(result: RunResult | null): Promise<void> {
    for (const { view, why } of result?.failed_views ?? [])
      await this.#warn(`${view} failed: ${why}; the run is recorded: see tacho replay`);
    if (result === null) await this.close();
  }

  note(text: string): Promise<void> {
    return this.#say(`note: ${text}\n`);
  }

  async retrying(text: string): Promise<void> {
    await this.#say(`tacho: ${text}\n`);
  }

  /** After the run: waits until the person leaves the full-screen view. */
  async left(): Promise<void> {
    await this.#quietly(() => this.#tui?.left());
    await this.close();
  }

  /** The terminal is as it was. May be called twice. */
  async close(): Promise<void> {
    await this.#quietly(() => this.#tui?.close());
  }

  /** Shows what was held back of the last attempt, as it would have been shown. */
  async rest(state_dir: string, run_id: string): Promise<void> {
    if (this.#last) return;
    this.#shown = this.#options.output === 'json' ? await this.#view() : null;
    let seq = 0;
    const put = async (event: Event) => {
      seq = event.seq;
      this.begun ||= this.#shown !== null;
      await this.#quietly(() => this.#shown?.take([event]));
      for (const file of this.#options.files) await file.take([event]);
    };
    for await (const event of journalledEvents(openStateDir(state_dir), run_id)) await put(event);
    for (const event of this.#end) if (event.seq > seq) await put(event);
  }

  async #view(): Promise<View> {
    const { tui: agent, cwd, onInterrupt } = this.#options;
    if (agent === null)
      return { name: 'the output', take: createPresenter(this.#io, this.#options) };
    if (this.#tui === null) {
      const { TuiView } = await import('./tui-view.ts');
      this.#tui = new TuiView(this.#io, { agent, cwd, onInterrupt });
    } else this.#tui.begin();
    const tui = this.#tui;
    return { name: 'the live view', take: (events) => tui.take(events) };
  }

  async #warn(text: string): Promise<void> {
    await this.#say(`warning: ${oneLine(text, WARNING_CHARS_MAX)}\n`);
  }

  /** To standard error, which a full-screen view hides. */
  #say(text: string): Promise<void> {
    return this.#tui === null ? this.#io.err.write(text) : this.#tui.say(text);
  }

  /** The run is recorded by now: what fails is reported. */
  async #quietly(work: () => void | Promise<void> | undefined): Promise<void> {
    try {
      await work();
    } catch (error) {
      await this.#warn(`${this.#shown?.name} failed: ${whyOf(error)}`);
    }
  }
}

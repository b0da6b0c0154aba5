/**
 * The full-screen view of a run, and the plain text that takes its place when the person leaves the view.
 * Contract: once the run is over and the view is closed, the summary is on the normal screen, and the terminal is as it was.
 */
import type { Event } from '../../model/event.ts';
import { HumanProjection } from '../../projections/human.ts';
import { editDiff, proseOf } from '../../projections/human-parts.ts';
import { createTuiState, takeEvent } from '../../tui/fold.ts';
import { openKeyboard } from '../../tui/keyboard.ts';
import type { Wish } from '../../tui/press.ts';
import { newRunView } from '../../tui/run-view.ts';
import { addNote } from '../../tui/state.ts';
import { openTui } from '../../tui/tui.ts';
import type { Io } from '../command.ts';
import { onSignals } from '../signals.ts';
import { styleOf } from '../style.ts';

const LEFT = `The run continues in this process.
  v        return to the view
  Ctrl-C   cancel the run, after confirmation

`;
const QUESTION = 'Cancel the run? y/n\n';
const CONTINUES = 'The run continues.\n';
const CANCELLING = 'Cancelling the run. Ctrl-C again kills the agent.\n';

interface TuiViewOptions {
  agent: string;
  cwd: string;
  onInterrupt: () => void;
}

export class TuiView {
  readonly #io: Io;
  readonly #options: TuiViewOptions;
  readonly #keyboard: ReturnType<typeof openKeyboard>;
  #run: ReturnType<typeof newRun>;
  /** Null while plain text is shown. */
  #tui: ReturnType<typeof openTui> | null = null;
  #asking = false;
  #cancelling = false;
  #closed = false;
  /** Resolved once nobody has to press a key after the run: by a key, a signal, or because the terminal is gone. */
  readonly #left = Promise.withResolvers<void>();
  readonly #release: () => void;
  /** Messages for people that came while the view hid standard error. */
  #messages = '';

  constructor(io: Io, options: TuiViewOptions) {
    this.#io = io;
    this.#options = options;
    this.#run = newRun(io, options);
    const gone = () => this.#left.resolve();
    this.#keyboard = openKeyboard(process.stdin, {
      key: (key) => this.#press(key),
      gone,
      suspend: () => this.#tui?.suspend(),
      resume: () => this.#tui?.resume(),
    });
    this.#release = onSignals(() => this.#left.resolve());
    this.#enter();
  }

  /** Another attempt begins: its run replaces the previous one. */
  begin(): void {
    this.#run = newRun(this.#io, this.#options);
    this.#tui?.changed();
  }

  async take(events: readonly Event[]): Promise<void> {
    let printed = '';
    for (const event of events) {
      takeEvent(this.#run.state, event, performance.now());
      const shown = this.#run.human.project(event);
      if (this.#tui === null) printed += shown;
      else if (event.kind === 'run_finished') {
        const { final_output } = event.data;
        const text = final_output === '' ? '' : `${proseOf(final_output, styleOf(this.#io))}\n\n`;
        this.#run.ending = text + shown;
      }
    }
    this.#tui?.changed();
    if (printed !== '' && !this.#io.out.gone) await this.#io.out.write(printed);
  }

  /** A message of tacho itself: a note in the view, and on standard error once that can be seen. */
  async say(text: string): Promise<void> {
    if (this.#tui === null) return this.#io.err.write(text);
    this.#messages += text;
    addNote(this.#run.state, text.trim(), 'yellow');
    this.#tui.changed();
  }

  /** Waits until the person leaves the view of a run that is over. */
  async left(): Promise<void> {
    if (this.#tui !== null) await this.#left.promise;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#release();
    await this.#tui?.close();
    this.#tui = null;
    this.#keyboard.close();
    await this.#io.out.write(this.#run.ending);
    await this.#io.err.write(this.#messages);
  }

  #enter(): void {
    const { colour, unicode, env } = this.#io;
    const { stdout } = process;
    const look = { colour, unicode, home: env.HOME ?? null };
    const gone = () => this.#left.resolve();
    this.#tui = openTui({ stdout, run: () => this.#run, gone, ...look });
  }

  #press(key: string): void {
    if (this.#closed) return;
    if (this.#tui === null) void this.#pressInText(key);
    else this.#do(this.#tui.press(key));
  }

  #do(wish: Wish): void {
    if (wish === 'cancel') this.#cancel();
    else if (wish === 'quit') this.#left.resolve();
    else if (wish === 'leave') void this.#leave();
  }

  /** A person who cancels a run wants to leave: the view does not wait for another key. */
  #cancel(): void {
    this.#cancelling = true;
    this.#left.resolve();
    this.#options.onInterrupt();
  }

  /** To plain text: the run continues. */
  async #leave(): Promise<void> {
    const tui = this.#tui;
    this.#tui = null;
    await tui?.close();
    const messages = this.#messages;
    this.#messages = '';
    await this.#io.out.write(LEFT);
    await this.#io.err.write(messages);
  }

  async #pressInText(key: string): Promise<void> {
    const { out } = this.#io;
    if (this.#asking) {
      this.#asking = false;
      const yes = key === 'y' || key === 'Y' || key === '<ctrl_c>';
      if (yes) this.#cancel();
      this.#run.view.cancelling = this.#cancelling;
      await out.write(yes ? CANCELLING : CONTINUES);
    } else if (key === '<ctrl_c>') {
      if (this.#cancelling) return this.#options.onInterrupt();
      this.#asking = true;
      await out.write(QUESTION);
    } else if (key === 'v' || key === '<enter>') this.#enter();
  }
}

function newRun(io: Io, { agent, cwd }: TuiViewOptions) {
  return {
    state: createTuiState({ agent, now_ms: performance.now(), diffOf: editDiff }),
    view: newRunView(),
    human: new HumanProjection({ ...styleOf(io), stream: false, cwd }),
    ending: '',
  };
}

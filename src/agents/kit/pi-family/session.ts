/**
 * Session files: `<agent folder>/sessions/--<work folder>--/<time>_<session>.jsonl`, one per session. They hold the
 * messages of stdout, without updates, tool events and the bounds of turns and runs. The end is inferred from the
 * model's last message. Sub-agents are processes without a session; their messages are in the main file.
 */
import { decoder } from '../decoder.ts';
import { type End, type Time, Writer } from '../drafts.ts';
import type { FailureFacts } from '../failures.ts';
import { idOf, nativeOf, textOf, timeOf } from '../native.ts';
import { type Layout, sessionFiles } from '../sessions.ts';
import { words } from '../text.ts';
import { add, isEmpty, spent } from '../usage.ts';
import type { Session } from './generated/native.ts';
import { Conversation, endAfter, failureOf, ROLES_IGNORED, spentOf } from './messages.ts';
import type { Message } from './results.ts';

const MAIN = /^[0-9TZ-]+_([0-9A-Za-z][0-9A-Za-z._-]{0,127})\.jsonl$/;

/** Marks of the CLI and of extensions, settings, titles. */
const IGNORED = words(`
  credential_pin custom custom_message label mode_change reset_boundary service_tier_change
  session_info session_init thinking_level_change title ttsr_injection
`);

/** `provider/model` in some CLIs, the model alone in others. */
const modelOf = ({ modelId, model }: { modelId?: unknown; model?: unknown }) =>
  idOf(modelId) ?? idOf(model);

export const sessionsOf = ({ where, root }: Pick<Layout, 'where' | 'root'>) =>
  sessionFiles({
    where,
    root,
    id: /^[0-9A-Za-z][0-9A-Za-z._-]{0,127}$/,
    // A folder named by the user contains the files directly.
    names: [[/./, MAIN], [MAIN]],
    decoder: ({ since_ms } = {}) =>
      decoder<Session>((to) => {
        const run = new SessionRun(to);
        return {
          since_ms,
          isEarlier: () => run.isCopied(to.at_ms),
          before(record, _part, earlier) {
            run.last_ms = to.at_ms ?? run.last_ms;
            // The header and the model count from the beginning of the file, whichever run they belong to.
            if (record.type === 'session') run.header ??= record;
            if (record.type === 'model_change' && earlier) run.model = modelOf(record) ?? run.model;
          },
          records: {
            session: () => {},
            model_change(record) {
              run.model = modelOf(record) ?? run.model;
              run.introduce();
            },
            message: (record) => run.message(record),
            usage: (record) => run.spend(record.usage),
            model_usage: (record) => run.spend(record.usage),
            compaction: (record) => run.summarised('compaction', record),
            branch_summary: (record) => run.summarised('branch_summary', record),
            context_edit: (record) => run.edited(idOf(record.targetId)),
          },
          ignored: IGNORED,
          end: () => run.end(),
        };
      }),
  });

/** A failed message, until it is known whether it was retried. */
interface Failed {
  readonly entry_id: string | null;
  readonly failure: FailureFacts;
  readonly at_ms: Time;
}

class SessionRun extends Writer {
  header: { id?: unknown; cwd?: unknown; timestamp?: unknown; parentSession?: unknown } | null =
    null;
  model: string | null = null;
  /** The latest time in the file. */
  last_ms: Time;
  readonly #talk = new Conversation(this.to);
  /** Facts introduced so far: none, the session, or the model too. */
  #introduced: 'nothing' | 'session' | 'model' = 'nothing';
  readonly #spent = spent();
  #failed: Failed | null = null;
  /** Null: no record shows how the run ended. */
  #end: End | null = null;

  /** A fork begins with the entries of its parent, which has them too. */
  isCopied(at_ms: Time): boolean {
    const { header } = this;
    if (header === null || typeof header.parentSession !== 'string') return false;
    return (at_ms ?? Number.POSITIVE_INFINITY) < (timeOf(header) ?? 0);
  }

  end(): void {
    const [introduced, failed] = [this.#introduced, this.#failed];
    this.to.at_ms = this.last_ms;
    if (introduced === 'nothing' && this.header) this.introduce();
    this.to.at_ms = undefined;
    this.#giveUp();
    this.#introduced = introduced;
    this.#failed = failed;
    if (!isEmpty(this.#spent)) this.to.usage('total', this.#spent);
    if (this.#end) this.to.ended(this.#end, 'inferred');
  }

  introduce(): void {
    const { model } = this;
    if (this.#introduced === 'model' || (this.#introduced === 'session' && model === null)) return;
    this.#introduced = model === null ? 'session' : 'model';
    this.to.session({ session_id: idOf(this.header?.id), model, cwd: textOf(this.header?.cwd) });
  }

  /** Tokens of a message, or of a request without a message, such as one that keeps a cache alive (`usage`). */
  spend(usage: Message['usage'], model: string | null = null): void {
    const cost = spentOf(usage);
    if (cost === null) return;
    add(this.#spent, cost);
    this.to.usage('add', cost, model);
  }

  /** The model also writes the summary, which costs tokens. */
  summarised(code: string, { usage }: { usage?: Message['usage'] }): void {
    this.spend(usage);
    this.to.notice(code, null);
  }

  /** A failed message is removed from the context before it is retried. */
  edited(entry_id: string | null): void {
    if (this.#failed && entry_id === this.#failed.entry_id) this.#retried(this.#failed);
  }

  message(record: Session['message']): void {
    const message = nativeOf(record.message) as Message | null;
    const role = textOf(message?.role);
    if (message === null || role === null) {
      this.to.bad('message without role');
    } else if (role === 'assistant') {
      this.#assistant(message, idOf(record.id));
    } else if (role === 'toolResult') {
      this.#end = null;
      this.#talk.resultMessage(message);
    } else if (role === 'user') {
      this.introduce();
      this.#giveUp();
      this.#end = null;
      this.#talk.user(message);
    } else if (role !== 'system' && !ROLES_IGNORED.has(role)) {
      this.to.problem('unknown_record', `message/${role}`);
    }
  }

  #assistant(message: Message, entry_id: string | null): void {
    const { at_ms } = this.to;
    if (this.#failed) this.#retried(this.#failed);
    this.model ??= idOf(message.model);
    this.to.at_ms = timeOf(message) ?? at_ms;
    this.introduce();
    this.to.step(null);
    this.to.at_ms = at_ms;
    this.#talk.assistant(message);
    const reason = textOf(message.stopReason);
    this.spend(message.usage, idOf(message.model));
    this.#end = reason === 'toolUse' || reason === 'pending' ? null : endAfter(message);
    if (reason === 'error') this.#failed = { entry_id, failure: failureOf(message), at_ms };
  }

  #retried({ failure, at_ms }: Failed): void {
    this.#failed = null;
    this.#end = null;
    this.to.retried({}, failure, at_ms);
  }

  /** The failure is final. */
  #giveUp(): void {
    if (this.#failed) this.to.failed(this.#failed.failure, this.#failed.at_ms);
    this.#failed = null;
  }
}

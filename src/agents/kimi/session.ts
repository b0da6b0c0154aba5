/**
 * Session files: `sessions/<workspace>/<session>/agents/main/wire.jsonl`, appended record by record. Each sub-agent has
 * its own `agents/<id>/wire.jsonl`. Records name the agent, but not the session: its id is the name of the folder, and
 * its working directory is in `state.json`.
 */
import { basename, dirname, join } from 'node:path';
import { decoder } from '../kit/decoder.ts';
import { momentOf, type Open, textOf, wordOf } from '../kit/native.ts';
import { homeOf, metaIn, pathsIn, sessionFiles } from '../kit/sessions.ts';
import { words } from '../kit/text.ts';
import type { Session } from './generated/native.ts';
import { kindOf, SessionRun } from './session-run.ts';

const SESSION = /^(session_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;
const MAIN = [/^agents$/, /^main$/, /^wire\.jsonl$/];

const timeOf = ({ time, created_at }: Open) => momentOf(time ?? created_at);

/** The session's folder. */
const folderOf = (wire: string) => dirname(dirname(dirname(wire)));

function placeOf(path: string | undefined) {
  if (path === undefined) return { session_id: null, cwd: null };
  const folder = folderOf(path);
  const state = metaIn(join(folder, 'state.json'));
  const [, named = textOf(state?.id)] = SESSION.exec(basename(folder)) ?? [];
  return { session_id: named, cwd: textOf(state?.cwd) };
}

/** Facts that other records repeat, or that concern only the CLI. */
const IGNORED = words(`
  agent.message.appended agent.turn.ended agent.turn.started config.update context.append_message context.spliced
  cron.add cron.cursor cron.delete cron.fired file_history.checkpoint full_compaction.begin goal.clear goal.create
  goal.update interaction.resolved interruptionReminder.recorded llm.tools_snapshot mcp.tools_discovered
  permission.rules.add permission.set_mode plan.revision plan_mode.cancel plan_mode.enter plan_mode.exit
  plugin.session_start prompt.aborted prompt.completed prompt.queued prompt.started prompt.steered prompt.submitted
  runtime.set_binding skill.activated subagent.cancelled subagent.completed subagent.failed subagent.started
  subagent.suspended swarm_mode.enter swarm_mode.exit task.notified task.started task.waitDelivered
  token_counting.measured token_counting.rebased token_counting.truncated token_counting.turn_recorded
  tools.register_user_tool tools.reset_active_tools tools.set_active_tools tools.unregister_user_tool
  tools.update_store tower.inbox.sent tower_mode.enter tower_mode.exit turn.started
`);

export const session = sessionFiles({
  where: '~/.kimi-code/sessions, or $KIMI_CODE_HOME/sessions',
  root: (env) => join(env.KIMI_CODE_HOME || join(homeOf(env), '.kimi-code'), 'sessions'),
  id: SESSION,
  names: [[/^wd_/, SESSION, ...MAIN]],
  async subAgents(path, unreadable) {
    const agents = pathsIn(dirname(dirname(path)), [/^(?!main$)/, /^wire\.jsonl$/], unreadable);
    return Array.fromAsync(agents, (found) => ({ path: found.path, parent_call_id: null }));
  },
  timeOf,
  decoder: ({ since_ms, path } = {}) =>
    decoder<Session>((to) => {
      const run = new SessionRun(to, placeOf(path));
      return {
        since_ms,
        kindOf,
        timeOf,
        before(record, part, earlier) {
          run.speak(record, part);
          if (earlier) run.recall(record);
        },
        records: {
          metadata: () => run.introduce(),
          'profile.bind': () => run.introduce(),
          'turn.prompt': (record) => run.prompt(record),
          'turn.steer': (record) => run.prompt(record),
          'llm.request': (record) => run.request(record),
          'usage.record': (record) => run.spent(record),
          'context.append_loop_event/step.begin': () => run.step(),
          'context.append_loop_event/content.part': ({ event }) => run.part(event),
          'context.append_loop_event/tool.call': ({ event }) => run.call(event),
          'context.append_loop_event/tool.result': ({ event }) => run.result(event),
          'context.append_loop_event/step.end': () => {},
          'interaction.request': (record) => run.asked(record),
          'permission.record_approval_result': (record) => run.decided(record),
          'subagent.spawned': (record) => run.spawned(record),
          'task.terminated': (record) => run.task(record),
          'file_history.tracked': (record) => run.tracked(record),
          'turn.step.retrying': (record) => run.retried(record),
          'turn.step.interrupted': () => {},
          'turn.cancel': () => run.cancel(),
          'turn.ended': (record) => run.turnEnded(record),
        },
        ignored: IGNORED,
        notices: words(`
          context.apply_compaction context.clear context.undo forked full_compaction.cancel full_compaction.complete
        `),
        noticeText: ({ type }) => wordOf(type),
        end: () => run.end(),
      };
    }),
});

/**
 * Each agent's own rule for old sessions, and the sessions that it will affect soon (WA-11). Contract: reads only
 * settings files and the list of session files; changes nothing of an agent.
 */
import { allAgents } from '../../agents/registry.ts';
import { plural } from '../../lib/figures.ts';
import { localMinute } from '../../lib/local-time.ts';
import type { Agent, Memo, Retention, SessionFile } from '../../model/agent.ts';
import type { Index } from '../../store/index/index-db.ts';

const DAY_MS = 86_400_000;
const SOON_DAYS = 7;

/** An agent's own rule for old sessions, and its effect. */
export interface AgentRetention {
  /** Id of the agent. */
  agent: string;
  /** Name of the product. */
  title: string;
  /** The rule; null: the agent keeps its sessions, or no rule is known. */
  rule: Retention | null;
  /** Sessions in the agent's own store; null if they were not counted, because no number of days is known. */
  sessions: number | null;
  /** Sessions that the rule affects within 7 days, including those that are already older. */
  soon: number;
  /** Those of them that are already older: the agent's next start affects them. */
  overdue: number;
  /** Sessions among `soon` that are in tacho's store. */
  stored: number;
  /** When the rule affects the next session, in milliseconds since 1970; null if there is none. May be in the past. */
  next_ms: number | null;
}

interface Looking {
  env: NodeJS.ProcessEnv;
  now_ms: number;
  /** Whether tacho's store has a run of the session. */
  isStored(agent: string, session_id: string): boolean;
  memo?: Memo;
  agents?: readonly Agent[];
}

/** Looks sessions up in tacho's own store; null: there is none. */
export const storedIn =
  (index: Pick<Index, 'runsOfSession'> | null): Looking['isStored'] =>
  (agent, session_id) =>
    (index?.runsOfSession(agent, session_id).length ?? 0) > 0;

/** One entry per agent that stores sessions. */
export async function retentionReport(looking: Looking): Promise<AgentRetention[]> {
  const agents = looking.agents ?? (await allAgents());
  // An agent without programs is part of tacho.
  const known = agents.filter(({ session, binaries }) => session !== null && binaries.length > 0);
  const reports: AgentRetention[] = [];
  for (const agent of known) reports.push(await reportOf(agent, looking));
  return reports;
}

async function reportOf(agent: Agent, looking: Looking): Promise<AgentRetention> {
  const { env, memo, now_ms, isStored } = looking;
  const { id, title, session } = agent;
  const rule = session?.retention?.(env) ?? null;
  const nothing = { sessions: null, soon: 0, overdue: 0, stored: 0, next_ms: null };
  const days = rule?.days ?? null;
  if (days === null) return { agent: id, title, rule, ...nothing };
  const files: SessionFile[] = await Array.fromAsync(session?.list?.({ env, memo }) ?? []);
  const ends = files.map(({ session_id, modified_ms }) => ({
    session_id,
    at_ms: modified_ms + days * DAY_MS,
  }));
  const soon = ends.filter(({ at_ms }) => at_ms <= now_ms + SOON_DAYS * DAY_MS);
  return {
    agent: id,
    title,
    rule,
    sessions: files.length,
    soon: soon.length,
    overdue: soon.filter(({ at_ms }) => at_ms <= now_ms).length,
    stored: soon.filter(({ session_id }) => isStored(id, session_id)).length,
    next_ms: ends.reduce<number | null>((next, { at_ms }) => Math.min(next ?? at_ms, at_ms), null),
  };
}

/** Whether something would be lost, or it is unknown. */
export const isAtRisk = ({ rule, soon, stored }: AgentRetention): boolean =>
  rule?.what === 'deletes' && (rule.days === null || soon > stored);

const dayOf = (at_ms: number) => localMinute(at_ms)?.slice(0, 10) ?? 'an unknown date';

const daysText = (days: number) =>
  days < 1 ? plural(Math.round(days * 24), 'hour') : plural(Number(days.toFixed(1)), 'day');

/** The rule and its effect in one sentence; null if there is no rule. */
export function retentionText(report: AgentRetention): string | null {
  const { agent, rule, sessions, soon, overdue, stored, next_ms } = report;
  if (rule === null) return null;
  const { what, setting, source, days, also } = rule;
  if (days === null)
    return `it is unknown when sessions are ${DONE[what]}: ${source} cannot be read, or has an invalid ${setting}`;
  const where = source === null ? 'the default' : `in ${source}`;
  const text = `${what} sessions ${daysText(days)} after their last change (${setting}, ${where})`;
  const more = also === null ? '' : `; ${also}`;
  if (next_ms === null) return `${text}; there are none${more}`;
  const first =
    overdue > 0 ? `${overdue} of them at its next start` : `the first on ${dayOf(next_ms)}`;
  if (soon === 0) return `${text}: none of ${sessions} within ${SOON_DAYS} days, ${first}${more}`;
  const within = `${soon} of ${sessions} within ${SOON_DAYS} days, ${first}${more}`;
  if (what === 'compresses') return `${text}: ${within}; tacho reads compressed sessions`;
  if (stored === soon) return `${text}: ${within}; tacho has ${soon === 1 ? 'it' : 'all of them'}`;
  return `${text}: ${within}; tacho has ${stored} of them: run tacho import ${agent} --all, or tacho watch`;
}

const DONE = { deletes: 'deleted', compresses: 'compressed' } as const;

/** For the end of an import: one line per agent with a rule and sessions, or with unreadable settings. */
export function retentionLines(reports: readonly AgentRetention[]): string[] {
  return reports.flatMap((report) => {
    const text = retentionText(report);
    return text === null || report.sessions === 0 ? [] : [`${report.title}: ${text}`];
  });
}

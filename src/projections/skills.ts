/**
 * The skills that a run used (EV-2): a successful Skill call, a successful read of a skill's SKILL.md, or a report of
 * the agent. Listings, failed or denied calls and text in outputs are not uses.
 */
import { LIMITS } from '../lib/limits.ts';
import { type SkillAsked, skillsOfCall } from '../lib/skill-use.ts';
import type { Event } from '../model/event.ts';
import type { CallStatus } from '../model/words.ts';

interface SkillUse {
  skill: string;
  /** The call that shows the use; null if only the agent reports it. */
  call_id: string | null;
  /** Sequence number of the event that requested the skill. */
  seq: number;
  by: SkillAsked['by'] | 'agent_report';
}

interface Uses {
  /** Calls that request a skill, by call id. */
  asked: Map<string, { seq: number; status: CallStatus | null; skills: SkillAsked[] }>;
  reported: SkillUse[];
  dropped: number;
  room: number;
}

const none = (): Uses => ({
  asked: new Map(),
  reported: [],
  dropped: 0,
  room: LIMITS.skill_uses_chars_max,
});

export interface SkillFold {
  fork(): SkillFold;
  push(event: Event): void;
  /** Every use, in the order of the requests. */
  uses(): SkillUse[];
  /** Distinct names in the order of first use. */
  names(): string[];
  /** Uses and requests beyond the limit. */
  dropped(): number;
}

/** `byte_text`: whether the events contain byte text. `from`: continues with a copy of these uses. */
export function createSkillFold(byte_text = false, from: Uses = none()): SkillFold {
  const asked = new Map([...from.asked].map(([call_id, call]) => [call_id, { ...call }]));
  const reported = [...from.reported];
  let { dropped, room } = from;
  /** Whether there is room for another use; if not, it is counted. */
  const fits = (held: number, texts: readonly (string | null)[]): boolean => {
    const chars = texts.reduce((sum, text) => sum + (text ?? '').length, 0);
    const fit = held < LIMITS.skill_uses_max && chars <= room;
    if (fit) room -= chars;
    else dropped += 1;
    return fit;
  };
  const uses = (): SkillUse[] => {
    const byCall = [...asked].flatMap(([call_id, { seq, status, skills }]) =>
      status === 'ok' ? skills.map(({ skill, by }) => ({ skill, call_id, seq, by })) : [],
    );
    return [...byCall, ...reported].sort((a, b) => a.seq - b.seq);
  };
  return {
    fork: () => createSkillFold(byte_text, { asked, reported, dropped, room }),
    push(event) {
      if (event.kind === 'call_requested') {
        const skills = skillsOfCall(event.data, byte_text);
        if (skills.length === 0) return;
        const { call_id } = event.data;
        const texts = [call_id, ...skills.map(({ skill }) => skill)];
        if (fits(asked.size, texts)) asked.set(call_id, { seq: event.seq, status: null, skills });
      } else if (event.kind === 'call_finished' || event.kind === 'call_updated') {
        const entry = asked.get(event.data.call_id);
        if (entry !== undefined) entry.status = event.data.status ?? entry.status;
      } else if (event.kind === 'skill_used') {
        const { skill, call_id } = event.data;
        if (fits(reported.length, [skill, call_id]))
          reported.push({ skill, call_id, seq: event.seq, by: 'agent_report' });
      }
    },
    uses,
    names: () => [...new Set(uses().map((use) => use.skill))],
    dropped: () => dropped,
  };
}

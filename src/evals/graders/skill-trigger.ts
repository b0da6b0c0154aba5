/** `skill-trigger`: whether a skill was used (EV-2). */
import { isSkill, skillsOfCall } from '../../lib/skill-use.ts';
import type { Transcript, TranscriptCall } from '../../model/transcript.ts';
import { type Evidence, fact, type Grader } from '../types.ts';

export const skillTrigger: Grader = (options, { transcript }) => {
  const skill = options.skill as string;
  const wanted = options.should_trigger !== false;
  const { uses, attempts } = usesOf(transcript, skill);
  const used = uses.length > 0;
  const evidence = [...uses, ...attempts].map(({ text, call_id }) => fact(text, wanted, call_id));
  for (let i = uses.length; i < evidence.length; i++) (evidence[i] as Evidence).passed = !wanted;
  return { score: used === wanted ? 1 : 0, reason: reasonOf(skill, wanted, used), evidence };
};

function reasonOf(skill: string, wanted: boolean, used: boolean): string {
  const what = `the skill "${skill}" was ${used ? '' : 'not '}used`;
  return used === wanted ? what : `${what}, but should ${wanted ? '' : 'not '}have been`;
}

interface Use {
  text: string;
  call_id: string | null;
}

/** Successful uses, and unsuccessful calls that requested the skill. */
function usesOf(transcript: Transcript, skill: string): { uses: Use[]; attempts: Use[] } {
  const uses: Use[] = [];
  const attempts: Use[] = [];
  for (const message of transcript.messages) {
    for (const call of message.tool_calls) {
      const { name: tool, input, reads, status, id } = call;
      const asked = skillsOfCall({ tool, input, reads }).find((one) => isSkill(one.skill, skill));
      if (asked === undefined) continue;
      const text = useText(call, asked.by);
      if (status === 'ok') uses.push({ text, call_id: id });
      else attempts.push({ text: `${text}: ${status}, which is not a use`, call_id: id });
    }
  }
  if (uses.length === 0 && transcript.skills_used.some((used) => isSkill(used, skill)))
    uses.push({ text: 'the agent reported the use', call_id: null });
  return { uses, attempts };
}

function useText(call: TranscriptCall, by: 'skill_call' | 'file_read'): string {
  const input = call.input as Record<string, unknown>;
  if (by === 'skill_call') return `Skill ${String(input.skill)}`;
  return call.name === 'Read'
    ? `Read ${String(input.file_path)}`
    : `${call.name} reads ${call.reads.filter((path) => path.endsWith('SKILL.md')).join(', ')}`;
}

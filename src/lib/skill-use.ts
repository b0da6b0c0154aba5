/** Decides which calls use a skill (EV-2), for the list of used skills and for graders. Callers check that the call succeeded. */
import { isLonger } from './byte-text.ts';
import { LIMITS } from './limits.ts';
import { isMap, own } from './own.ts';

/** The skill of a path `…/skills/<name>/SKILL.md` or `…/skill/<name>/SKILL.md`; otherwise null. */
export function skillOfPath(path: string, byte_text = false): string | null {
  if (!path.endsWith('SKILL.md') || isLonger(path, LIMITS.path_chars_max, byte_text)) return null;
  const parts: string[] = [];
  for (const part of path.replaceAll('\\', '/').split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  const [folder, name, file] = parts.slice(-3);
  if (parts.length < 3 || file !== 'SKILL.md' || name === undefined) return null;
  return folder === 'skills' || folder === 'skill' ? name : null;
}

export interface SkillAsked {
  skill: string;
  by: 'skill_call' | 'file_read';
}

interface Call {
  tool: string;
  input: unknown;
  reads: readonly string[];
}

/** The skills that a call uses if it succeeds. */
export function skillsOfCall(call: Call, byte_text = false): SkillAsked[] {
  if (call.tool === 'Skill') {
    const skill = field(call.input, 'skill');
    return skill === null || skill === '' ? [] : [{ skill, by: 'skill_call' }];
  }
  const path = call.tool === 'Read' ? field(call.input, 'file_path') : null;
  const paths = path !== null ? [path] : call.tool === 'Bash' ? call.reads : [];
  if (!paths.some((one) => one.endsWith('SKILL.md'))) return [];
  const names = paths.map((one) => skillOfPath(one, byte_text)).filter((name) => name !== null);
  return [...new Set(names)].map((skill) => ({ skill, by: 'file_read' }));
}

/** Whether a used skill is the expected one: the same name, with or without a plugin prefix. */
export function isSkill(used: string, asked: string): boolean {
  return used === asked || (used.endsWith(`:${asked}`) && used.length > asked.length + 1);
}

function field(input: unknown, name: string): string | null {
  const value = isMap(input) ? own(input, name) : undefined;
  return typeof value === 'string' ? value : null;
}

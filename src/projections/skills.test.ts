import { describe, expect, test } from 'vitest';
import { createMaker } from '../../test/build-events.ts';
import { LIMITS } from '../lib/limits.ts';
import { skillOfPath } from '../lib/skill-use.ts';
import type { Event } from '../model/event.ts';
import { createSkillFold } from './skills.ts';

function skillsIn(events: readonly Event[]): string[] {
  const fold = createSkillFold();
  for (const event of events) fold.push(event);
  return fold.names();
}

type Call = { tool: string; input?: unknown; reads?: string[]; status?: 'ok' | 'error' | 'denied' };
function call(id: string, { tool, input = {}, reads = [], status = 'ok' }: Call): Event[] {
  const make = createMaker();
  return [
    make('call_requested', { call_id: id, tool, input, reads }),
    make('call_finished', { call_id: id, tool, status }),
  ];
}

describe('skillOfPath', () => {
  test.each([
    ['/home/u/.claude/skills/greeting-style/SKILL.md', 'greeting-style'],
    ['.opencode/skill/toy/SKILL.md', 'toy'],
    ['skills/a/SKILL.md', 'a'],
    ['/x/skills/a/./b/../SKILL.md', 'a'],
    ['C:\\u\\skills\\win\\SKILL.md', 'win'],
    ['/x/skills/a/reference.md', null],
    ['/x/skills/SKILL.md', null],
    ['/x/skills/a/b/SKILL.md', null],
    ['/x/myskills/a/SKILL.md', null],
    ['/x/skills/a/skill.md', null],
    ['/x/skills/a/SKILL.md.bak', null],
    ['/x/skills/a/../SKILL.md', null],
    ['SKILL.md', null],
    ['', null],
  ])('%s names %s', (path, skill) => {
    expect(skillOfPath(path)).toBe(skill);
  });
});

describe('the skills a run used', () => {
  test('come from successful Skill calls, reads of SKILL.md and reports, each once, in order', () => {
    const make = createMaker();
    expect(
      skillsIn([
        ...call('c1', { tool: 'Skill', input: { skill: 'one' } }),
        ...call('c2', { tool: 'Read', input: { file_path: '/p/skills/two/SKILL.md' } }),
        ...call('c3', { tool: 'Bash', reads: ['README.md', 'skills/three/SKILL.md'] }),
        make('skill_used', { skill: 'four' }, { seq: 9 }),
        ...call('c5', { tool: 'Skill', input: { skill: 'two' } }),
      ]),
    ).toEqual(['one', 'two', 'three', 'four']);
  });

  test('do not come from failed, denied or unfinished calls, other tools or command text', () => {
    const make = createMaker();
    const path = '/p/skills/x/SKILL.md';
    expect(
      skillsIn([
        ...call('c1', { tool: 'Skill', input: { skill: 'x' }, status: 'error' }),
        ...call('c2', { tool: 'Read', input: { file_path: path }, status: 'denied' }),
        ...call('c3', { tool: 'Write', input: { file_path: path } }),
        ...call('c4', { tool: 'Bash', input: { command: `ls ${path}` } }),
        ...call('c5', { tool: 'Grep', input: { pattern: 'x', file_path: path } }),
        ...call('c6', { tool: 'Skill', input: { skill: 7 } }),
        ...call('c7', { tool: 'Skill', input: null }),
        make('call_requested', { call_id: 'c8', tool: 'Skill', input: { skill: 'x' } }),
      ]),
    ).toEqual([]);
  });

  test('follow late updates of a call', () => {
    const make = createMaker();
    const failed = call('c1', { tool: 'Skill', input: { skill: 'late' }, status: 'error' });
    const passed = call('c2', { tool: 'Skill', input: { skill: 'gone' } });
    expect(
      skillsIn([
        ...failed,
        ...passed,
        make('call_updated', { call_id: 'c1', status: 'ok' }),
        make('call_updated', { call_id: 'c2', status: 'error' }),
        make('call_updated', { call_id: 'c2', exit_code: 0 }),
      ]),
    ).toEqual(['late']);
  });

  test('include their evidence', () => {
    const fold = createSkillFold();
    for (const event of call('c1', { tool: 'Bash', reads: ['skills/a/SKILL.md'] }))
      fold.push(event);
    expect(fold.uses()).toEqual([{ skill: 'a', call_id: 'c1', seq: 1, by: 'file_read' }]);
  });
});

test('uses of skills are bounded in number and length, and omitted ones are counted', () => {
  const make = createMaker();
  const fold = createSkillFold();
  const long = 'x'.repeat(1024 * 1024);
  for (let at = 0; at < 10; at++) {
    fold.push(make('skill_used', { skill: `${at}${long}` }));
    for (const event of call(`c${at}`, { tool: 'Skill', input: { skill: `s${at}${long}` } }))
      fold.push(event);
  }
  const chars = fold.names().reduce((sum, { length }) => sum + length, 0);
  expect(chars).toBeLessThanOrEqual(LIMITS.skill_uses_chars_max);
  expect(fold.names().length + fold.dropped()).toBe(20);
  expect(skillOfPath(`${long}/skills/a/SKILL.md`)).toBeNull();
});

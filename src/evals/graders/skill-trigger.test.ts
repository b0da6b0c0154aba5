import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { call, transcript } from '../../../test/build-transcript.ts';
import { verifies } from '../../../test/e2e/verifies.ts';
import { grade } from '../../../test/grade.ts';
import { AGENT_IDS } from '../../agents/registry.ts';
import type { TranscriptCall } from '../../model/transcript.ts';

const trigger = (skill: string, should_trigger?: boolean) => ({
  type: 'skill-trigger',
  skill,
  ...(should_trigger !== undefined && { should_trigger }),
});

const verdict = async (calls: TranscriptCall[], skill = 'deploy-helper') =>
  (await grade(trigger(skill), transcript(calls))).verdict;

describe('skill-trigger', () => {
  verifies('EV-2', 'a successful Skill call and its evidence', async () => {
    const calls = [call('Bash', { command: 'ls' }), call('Skill', { skill: 'deploy-helper' })];
    expect(await grade(trigger('deploy-helper'), transcript(calls))).toEqual({
      type: 'skill-trigger',
      name: 'skill-trigger',
      verdict: 'pass',
      score: 1,
      reason: 'the skill "deploy-helper" was used',
      evidence: [{ text: 'Skill deploy-helper', passed: true, call_id: 'c2' }],
      weight: 1,
      required: false,
    });
  });

  verifies('EV-2', 'an unwanted use fails, with the call that shows it', async () => {
    const calls = [call('Read', { file_path: '/x/skills/deploy-helper/SKILL.md' })];
    expect(await grade(trigger('deploy-helper', false), transcript(calls))).toMatchObject({
      verdict: 'fail',
      score: 0,
      reason: 'the skill "deploy-helper" was used, but should not have been',
      evidence: [{ text: 'Read /x/skills/deploy-helper/SKILL.md', passed: false, call_id: 'c1' }],
    });
  });

  const uses: [string, TranscriptCall][] = [
    ['a Skill call', call('Skill', { skill: 'deploy-helper' })],
    ['a Skill call with a plugin', call('Skill', { skill: 'ops:deploy-helper' })],
    ['a Read of its file', call('Read', { file_path: '/h/.x/skills/deploy-helper/SKILL.md' })],
    ['a Read in a folder skill', call('Read', { file_path: '.x/skill/deploy-helper/SKILL.md' })],
    ['a Bash that reads it', call('Bash', {}, { reads: ['/h/skills/deploy-helper/SKILL.md'] })],
  ];
  verifies('EV-2', 'every way of using a skill counts', async () => {
    const found = await Promise.all(uses.map(([, one]) => verdict([one])));
    expect(found).toEqual(uses.map(() => 'pass'));
  });

  const path = '/h/skills/deploy-helper/SKILL.md';
  const others: [string, TranscriptCall][] = [
    ['a longer name', call('Skill', { skill: 'deploy-helper-legacy' })],
    ['a shorter name', call('Skill', { skill: 'deploy' })],
    ['a name that only ends so', call('Skill', { skill: 'my-deploy-helper' })],
    ['a colon without a plugin', call('Skill', { skill: ':deploy-helper' })],
    ['a failed call', call('Skill', { skill: 'deploy-helper' }, { status: 'error' })],
    ['a denied call', call('Skill', { skill: 'deploy-helper' }, { status: 'denied' })],
    ['a cancelled read', call('Read', { file_path: path }, { status: 'cancelled' })],
    ['a read that failed', call('Bash', {}, { reads: [path], status: 'error' })],
    ['a listing', call('Bash', { command: 'find skills' }, { output: path })],
    ['a Glob', call('Glob', { pattern: path }, { output: path })],
    ['another file of the skill', call('Read', { file_path: '/h/skills/deploy-helper/a.md' })],
    ['a longer folder', call('Read', { file_path: '/h/skills/deploy-helper-old/SKILL.md' })],
    ['a write of it', call('Write', { file_path: path })],
    ['a Bash command that only names it', call('Bash', { command: `echo ${path}` })],
    ['an input that is not a map', call('Skill', 'deploy-helper')],
  ];
  test.each(others)('%s is not a use', async (_, one) => {
    expect(await verdict([one])).toBe('fail');
    expect((await grade(trigger('deploy-helper', false), transcript([one]))).verdict).toBe('pass');
  });

  test('an unsuccessful call is part of the evidence', async () => {
    const calls = [call('Skill', { skill: 'deploy-helper' }, { status: 'denied' })];
    expect((await grade(trigger('deploy-helper'), transcript(calls))).evidence).toEqual([
      { text: 'Skill deploy-helper: denied, which is not a use', passed: false, call_id: 'c1' },
    ]);
  });

  test("an agent's own report is a use without a call", async () => {
    const reported = transcript([], { skills_used: ['deploy-helper'] });
    expect((await grade(trigger('deploy-helper'), reported)).evidence).toEqual([
      { text: 'the agent reported the use', passed: true, call_id: null },
    ]);
  });
});

verifies('EV-1', 'no grader names an agent, and graders read transcripts only', () => {
  const agents = AGENT_IDS.filter((id) => id !== 'demo');
  const names = new RegExp(`\\b(${agents.join('|')})\\b`, 'i');
  const sources = readdirSync(import.meta.dirname)
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map((name) => ({ name, text: readFileSync(join(import.meta.dirname, name), 'utf8') }));
  expect(agents.length).toBeGreaterThan(5);
  expect(sources.filter(({ text }) => names.test(text)).map(({ name }) => name)).toEqual([]);
  const elsewhere =
    /from '(?!\.\/|\.\.\/(files\/)?(?:\w|-)+\.ts|\.\.\/\.\.\/(lib|model)\/)|\bnative_name\b/;
  expect(sources.filter(({ text }) => elsewhere.test(text)).map(({ name }) => name)).toEqual([]);
});

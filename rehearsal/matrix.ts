/** The results as a table for people on the terminal. Pure. */
export interface Result {
  agent: string;
  version: string;
  scenario: string;
  /** `left_out`: the agent cannot play it. */
  outcome: 'passed' | 'failed' | 'left_out';
  reasons: string[];
  duration_ms: number;
  /** The folder with all files of the rehearsal; null: not kept. */
  room: string | null;
}

export const MARKS = { passed: '✓', failed: '✗', left_out: '–' } as const;

export const unique = (names: readonly string[]) => [...new Set(names)];

function cell(results: readonly Result[], scenario: string, title: string): Result | undefined {
  return results.find((result) => result.scenario === scenario && titleOf(result) === title);
}

export function titleOf({ agent, version }: Result): string {
  return `${agent} ${version}`;
}

/** Scenarios down, agents across, then the reasons. */
export function terminalTable(results: readonly Result[]): string {
  const titles = unique(results.map(titleOf));
  const scenarios = unique(results.map((result) => result.scenario));
  const first = Math.max(...scenarios.map((name) => name.length)) + 2;
  const widths = titles.map((title) => Math.max(title.length, '✓ 00.0 s'.length) + 2);
  const row = (name: string, cells: readonly string[]) =>
    (name.padEnd(first) + cells.map((text, i) => text.padEnd(widths[i] ?? 0)).join('')).trimEnd();
  const lines = [row('', titles)];
  for (const scenario of scenarios) {
    const cells = titles.map((title) => {
      const result = cell(results, scenario, title);
      if (!result || result.outcome === 'left_out') return result ? MARKS.left_out : '';
      return `${MARKS[result.outcome]} ${(result.duration_ms / 1000).toFixed(1)} s`;
    });
    lines.push(row(scenario, cells));
  }
  const failed = results.filter((result) => result.outcome === 'failed');
  for (const result of failed) {
    lines.push('', `${MARKS.failed} ${titleOf(result)} ${result.scenario}`);
    for (const reason of result.reasons) lines.push(`    ${reason}`);
  }
  for (const result of results) {
    if (result.room)
      lines.push('', `${titleOf(result)} ${result.scenario}: kept in ${result.room}`);
  }
  const played = results.filter((result) => result.outcome !== 'left_out').length;
  lines.push('', `${played - failed.length} of ${played} as expected`);
  return `${lines.join('\n')}\n`;
}

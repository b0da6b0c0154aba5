/** `verifies('RE-3', …)`: a test that cites its requirement; test/contract/requirements.test.ts reads the citations. */
import { test } from 'vitest';

export function verifies(
  ids: string | readonly string[],
  title: string,
  body: () => void | Promise<void>,
  timeout_ms?: number,
): void {
  const cited = typeof ids === 'string' ? ids : ids.join(', ');
  test(`${cited}: ${title}`, body, timeout_ms);
}

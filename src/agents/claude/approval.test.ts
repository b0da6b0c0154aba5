import { expect, test } from 'vitest';
import { caution } from './approval.ts';

test('a start that the CLI refuses has a warning: --approve all as root, outside a sandbox', () => {
  expect(caution({ approve: 'all', uid: 0, env: {} })).toContain('refuses --approve all as root');
  expect(caution({ approve: 'all', uid: 0, env: { IS_SANDBOX: '1' } })).toBeNull();
  expect(caution({ approve: 'edits', uid: 0, env: {} })).toBeNull();
  expect(caution({ approve: 'all', uid: 1000, env: {} })).toBeNull();
  expect(caution({ approve: 'all', uid: null, env: {} })).toBeNull();
});

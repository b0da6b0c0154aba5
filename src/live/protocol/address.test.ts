import { expect, test } from 'vitest';
import { verifies } from '../../../test/e2e/verifies.ts';
import { dial } from '../transports/dial.ts';
import { addressText, isLoopback, parseAddress, sendingUrl } from './address.ts';

const OWN = [
  '127.0.0.1',
  '127.8.9.1',
  '[::1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  'LocalHost',
];
const OTHERS = [
  '10.9.9.1',
  '0.0.0.0',
  '[::]',
  '[fe80::1]',
  '[::ffff:10.9.9.1]',
  'collector',
  '127.0.0.1.example.org',
  'localhost.example.org',
  '127.1',
  '2130706433',
];

verifies('LP-13', 'another machine needs TLS or explicit consent', () => {
  for (const host of OWN)
    expect(parseAddress(`tcp://${host}:7070`)).toMatchObject({ tls: false, port: 7070 });
  for (const host of OTHERS) {
    const url = `tcp://${host}:7070`;
    expect(() => parseAddress(url), url).toThrow(/use tls:\/\/.*--insecure/);
    expect(parseAddress(`tls://${host}:7070`)).toMatchObject({ tls: true });
    const allowed = parseAddress(sendingUrl(url, true));
    expect(allowed).toMatchObject({ tls: false, insecure: true });
    // The recorded address keeps the choice.
    expect(parseAddress(addressText(allowed))).toEqual(allowed);
  }
});

test('only unencrypted addresses are marked as insecure', () => {
  expect(sendingUrl('tls://h:1', true)).toBe('tls://h:1');
  expect(sendingUrl('unix:/s', true)).toBe('unix:/s');
  expect(parseAddress(sendingUrl('tcp://localhost:1', true))).not.toHaveProperty('insecure');
});

test('an address that was not parsed here is checked again before it is dialled', async () => {
  const address = { kind: 'tcp', host: '10.9.9.1', port: 7070, tls: false } as const;
  await expect(dial(address)).rejects.toThrow(/not this machine/);
  expect(isLoopback('10.9.9.1')).toBe(false);
});

/** Why a connection to a collector failed, and what to do: the errors of the system and of TLS in plain words. */
import { own } from '../../lib/own.ts';
import { type Address, addressText } from '../protocol/address.ts';

type Reason = (address: Address, cause: Cause) => string;

/** `cert`: the collector's certificate, if it is for other names. */
interface Cause extends NodeJS.ErrnoException {
  cert?: { subjectaltname?: string };
}

const nobody: Reason = () =>
  'no collector is listening there: start one with tacho serve, or check the address';
const untrusted: Reason = () =>
  'the certificate of the collector is not trusted: give it, or its CA, with --ca (tacho run: --live-ca)';
const hostOf = (address: Address) => (address.kind === 'tcp' ? address.host : 'this address');

const REASONS: Readonly<Record<string, Reason>> = {
  ECONNREFUSED: nobody,
  ENOENT: nobody,
  ENXIO: nobody,
  ENOTSOCK: () => 'this file is not a socket: check the address',
  EACCES: () => 'permission denied: only the user who started the collector can connect',
  ENOTFOUND: (address) => `the host ${hostOf(address)} is unknown: check the address`,
  EAI_AGAIN: (address) => `the host ${hostOf(address)} cannot be looked up now`,
  EHOSTUNREACH: () => 'the host cannot be reached: check the address and the network',
  ENETUNREACH: () => 'the network cannot be reached',
  ECONNRESET: () => 'the connection was reset: check that the collector uses TLS, or use tcp://',
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  UNABLE_TO_GET_ISSUER_CERT: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  CERT_HAS_EXPIRED: () => 'the certificate of the collector has expired: renew it',
  CERT_NOT_YET_VALID: () => 'the certificate of the collector is not valid yet: check the clock',
  ERR_TLS_CERT_ALTNAME_INVALID: (address, { cert }) => {
    const names = cert?.subjectaltname || 'no name';
    return `the certificate of the collector is for ${names}, not for ${hostOf(address)}: use a name from it`;
  },
  ERR_SSL_WRONG_VERSION_NUMBER: (address) =>
    `the collector does not use TLS: use ${addressText(address).replace('tls:', 'tcp:')}`,
};

export function whyNot(address: Address, cause: Cause): string {
  return own(REASONS, cause.code ?? '')?.(address, cause) ?? cause.message;
}

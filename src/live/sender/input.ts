/** Input to a session (LP-14): accepted, or refused with the reason. */
import type { LiveDataOf } from '../../model/live.ts';
import type { WireMessage } from '../protocol/messages.ts';
import type { InputReply, SenderOptions } from './types.ts';

const NO_INPUT: InputReply = {
  taken: false,
  why: 'this session does not accept input',
  state: 'no_input',
  allowed: [],
};

async function answerOf(take: SenderOptions['onInput'], message: WireMessage): Promise<InputReply> {
  if (take === undefined) return NO_INPUT;
  try {
    return await take(message);
  } catch (error) {
    return { taken: false, why: (error as Error).message, state: 'failed', allowed: [] };
  }
}

/** Null when it was accepted. */
export async function refusalOf(
  take: SenderOptions['onInput'],
  message: WireMessage,
): Promise<LiveDataOf<'error'> | null> {
  const answer = await answerOf(take, message);
  if (answer.taken) return null;
  const { correlation_id = null, message_id = null, seq = null } = message;
  return {
    error_code: 'INPUT_INJECTION_RESTRICTED',
    message: answer.why,
    severity: 'error',
    retriable: true,
    details: {
      current_state: answer.state,
      allowed_states: answer.allowed,
      attempted_input_type: message.type,
      session_phase: answer.state,
    },
    caused_by: { correlation_id, message_id, seq },
  };
}

/** A toy MCP server over stdio with one tool, `add_numbers`. */

interface Request {
  id?: number | string;
  method?: string;
  params?: { protocolVersion?: string; arguments?: { a?: unknown; b?: unknown } };
}

const TOOL = {
  name: 'add_numbers',
  description: 'Adds two numbers.',
  inputSchema: {
    type: 'object',
    properties: { a: { type: 'number' }, b: { type: 'number' } },
    required: ['a', 'b'],
  },
};

function add({ a, b }: { a?: unknown; b?: unknown }): object {
  const numbers = typeof a === 'number' && typeof b === 'number';
  const text = numbers ? `sum=${a + b}` : 'a and b must be numbers';
  return { content: [{ type: 'text', text }], isError: !numbers };
}

function answer({ method, params }: Request): object | null {
  if (method === 'initialize') {
    return {
      protocolVersion: params?.protocolVersion ?? '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'toybox', version: '1.0.0' },
    };
  }
  if (method === 'tools/list') return { tools: [TOOL] };
  if (method === 'tools/call') return add(params?.arguments ?? {});
  return method === 'ping' ? {} : null;
}

let held = '';
process.stdin.setEncoding('utf8').on('data', (text: string) => {
  const lines = (held + text).split('\n');
  held = lines.pop() ?? '';
  for (const line of lines) {
    const request = JSON.parse(line) as Request;
    if (request.id === undefined) continue;
    const result = answer(request);
    const body = result
      ? { result }
      : { error: { code: -32_601, message: `no method ${request.method}` } };
    process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id: request.id, ...body })}\n`);
  }
});

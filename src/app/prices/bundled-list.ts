/** The bundled list of prices (ADR 22), in a file of its own: 0.5 MB that most commands do not need. */
export { calcPrice } from '@pydantic/genai-prices';

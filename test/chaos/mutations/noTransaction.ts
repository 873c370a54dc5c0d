/** Loaded before the product: what should be one transaction is written without one. */
import type { Session } from '../../../activities/transaction';
import * as transaction from '../../../activities/transaction';

(transaction as { inTransaction: typeof transaction.inTransaction }).inTransaction = async (
  connection,
  _,
  body,
) => {
  const session = (await connection.startSession()) as Session;
  try {
    return await body(session);
  } finally {
    await session.endSession();
  }
};

/** Loaded before the product: what should be one transaction is written without one. */
import * as transaction from '../../../activities/transaction';
import { replace } from '../replace';

const withoutOne: typeof transaction.inTransaction = async (connection, _, body) => {
  const session = await connection.startSession();
  try {
    return await body(session);
  } finally {
    await session.endSession();
  }
};
replace(transaction, { inTransaction: withoutOne });

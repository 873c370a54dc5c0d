/** How the settings read as what the parts take. */
import type { KafkaSettings } from './bridge/kafka';
import type { TopicPlan } from './bridge/setup';
import type { TopicSettings } from './bridge/topics';
import type { Config } from './config';

export function kafkaSettings(config: Config): KafkaSettings {
  const {
    KAFKA_SASL_MECHANISM: mechanism,
    KAFKA_SASL_USERNAME: username,
    KAFKA_SASL_PASSWORD: password,
  } = config;
  const files = {
    ...(config.KAFKA_SSL_CA_FILE ? { ca: [config.KAFKA_SSL_CA_FILE] } : {}),
    ...(config.KAFKA_SSL_CERT_FILE ? { cert: config.KAFKA_SSL_CERT_FILE } : {}),
    ...(config.KAFKA_SSL_KEY_FILE ? { key: config.KAFKA_SSL_KEY_FILE } : {}),
  };
  return {
    brokers: config.KAFKA_BROKERS,
    clientId: config.KAFKA_CLIENT_ID,
    ssl: config.KAFKA_SSL ? (Object.keys(files).length > 0 ? files : true) : undefined,
    sasl:
      mechanism && username && password
        ? ({ mechanism, username, password } as KafkaSettings['sasl'])
        : undefined,
  };
}

export function topicSettings(config: Config): TopicSettings {
  return {
    topics: {
      PAYMENT_SUCCESS: config.KAFKA_TOPIC_PAYMENT_SUCCESS,
      KITCHEN_TICKET_ITEM_STATUS_CHANGED: config.KAFKA_TOPIC_KITCHEN_TICKET_ITEM_STATUS_CHANGED,
      MATERIAL_TRANSFERRED: config.KAFKA_TOPIC_MATERIAL_TRANSFERRED,
      PURCHASE_ORDER_RECEIVED: config.KAFKA_TOPIC_PURCHASE_ORDER_RECEIVED,
      MERCHANT: config.KAFKA_TOPIC_MERCHANT,
      PRODUCT_VARIANT: config.KAFKA_TOPIC_PRODUCT_VARIANT,
    },
    consumingStatuses: config.KITCHEN_CONSUMING_STATUSES,
    maxEventBytes: config.EVENT_MAX_BYTES,
  };
}

export function topicPlan(config: Config): TopicPlan {
  return {
    topics: Object.values(topicSettings(config).topics),
    deadLetterTopic: config.KAFKA_TOPIC_DEAD_LETTERS,
  };
}
